"""Test mysqldump's text: every value form, and damage limited to its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aloja_mini
from assay.foundation.errors import FormatError
from assay.store.formats.tables.mysqldump import Damage, DumpRow, is_dump, rows_of
from mutation import fuzz_count, mutations

TABLE = (
    "CREATE TABLE `t` (\n  `a` int(11) NOT NULL,\n  `b/s` varchar(9) DEFAULT 'x,\\'y',\n  PRIMARY KEY (`a`,`b/s`)\n);\n"
)


def rows(text: str, **more: frozenset[str]) -> list[DumpRow | Damage]:
    return list(rows_of(text, source="d.sql", **more))


def values(text: str) -> list[tuple[str | bytes | None, ...]]:
    rows_ = rows(text)
    assert not [item for item in rows_ if isinstance(item, Damage)]
    return [item.values for item in rows_ if isinstance(item, DumpRow)]


def test_rows_have_the_columns_of_their_table_their_line_and_their_number() -> None:
    text = TABLE + "INSERT INTO `t` VALUES (1,'p'),(2,NULL);\nINSERT INTO `t` VALUES (3,'q');\n"
    assert rows(text) == [
        DumpRow("t", ("a", "b/s"), ("1", "p"), 6, 1),
        DumpRow("t", ("a", "b/s"), ("2", None), 6, 2),
        DumpRow("t", ("a", "b/s"), ("3", "q"), 7, 3),
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\\'", "a\\"),
        (r"'a\nb\tc\0d\Z'", "a\nb\tc\0d\x1a"),
        (r"'\%\_'", r"\%\_"),
        (r"'\q'", "q"),
        ("'a),(b;'", "a),(b;"),
        ("'-- no'", "-- no"),
        ("'/*'", "/*"),
        ("''", ""),
        ('"say ""x"" it\'s"', 'say "x" it\'s'),
        ("NULL", None),
        ("null", None),
        ("'NULL'", "NULL"),
        ("-1.50", "-1.50"),
        ("+7", "+7"),
        (".5", ".5"),
        ("1e-05", "1e-05"),
        ("0x4A4b", b"JK"),
        ("_binary 'ab'", "ab"),
        ("X'4A'", b"J"),
        ("0x", None),
        ("b'01'", "01"),
        ("TRUE", "1"),
        ("false", "0"),
        ("'é'", "é"),
        (r"'\''''", "''"),
    ],
)
def test_each_form_of_value_is_read(written: str, read: str | bytes | None) -> None:
    if written == "0x":
        assert isinstance(rows(f"{TABLE}INSERT INTO `t` VALUES (1,{written});\n")[0], Damage)
    else:
        assert values(f"{TABLE}INSERT INTO `t` VALUES (1,{written});\n") == [("1", read)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO `t` VALUES (1,'p');",
        "insert into t values (1,'p');",
        "INSERT IGNORE INTO `t` VALUES (1,'p');",
        "REPLACE INTO `t` VALUES ( 1 , 'p' ) ;",
        "INSERT INTO `db`.`t` VALUES (1,'p');",
        "INSERT INTO `t` (`a`, `b/s`) VALUES (1,'p');",
        "INSERT DELAYED INTO `t` VALUES\n(1,'p');",
        "INSERT INTO `t` VALUES (1,'p') ON DUPLICATE KEY UPDATE `a`=VALUES(`a`);",
        "INSERT t VALUE (1,'p');",
    ],
)
def test_each_form_of_statement_is_read(statement: str) -> None:
    assert values(f"{TABLE}{statement}\n") == [("1", "p")]


def test_columns_named_by_the_statement_stand_before_those_of_the_table() -> None:
    (row,) = rows(f"{TABLE}INSERT INTO `t` (`b/s`,`a`) VALUES ('p',1);\n")
    assert isinstance(row, DumpRow)
    assert row.texts() == {"b/s": "p", "a": "1"}


def test_a_definition_on_one_line_gives_its_columns() -> None:
    text = "CREATE TABLE p(id INT(11) NOT NULL, name varchar(9) DEFAULT 'a,b', PRIMARY KEY (id)) ENGINE=InnoDB;\n"
    (row,) = rows(f"{text}INSERT INTO p VALUES (1,'n');\n")
    assert isinstance(row, DumpRow)
    assert row.columns == ("id", "name")


def test_comments_are_passed_over_wherever_they_hide_statements() -> None:
    insert = "INSERT INTO `t` VALUES (1,'p');\n"
    hidden = f"-- {insert}# {insert}/* \n{insert}*/\n/*!40000 ALTER TABLE `t` DISABLE KEYS */;\n"
    assert values(f"{TABLE}{hidden}INSERT INTO `t` VALUES (2,'q');\n") == [("2", "q")]


def test_other_tables_are_passed_over() -> None:
    other = TABLE.replace("`t`", "`u`")
    text = f"{TABLE}{other}INSERT INTO `u` VALUES (1,'broken);\nINSERT INTO `t` VALUES (1,'p');\n"
    assert [row.table for row in rows(text, tables=frozenset({"t"}))] == ["t"]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO `t` VALUES (1,'p'),(2,'q;", "row 2 can't be read"),
        ("INSERT INTO `t` VALUES (1,", "row 1 can't"),
        ("INSERT INTO `t` VALUES (1);", "row 1 has 1 values for 2 columns"),
        ("INSERT INTO `t` VALUES (1,NOW());", "row 1 can't be read at 'NOW"),
        ("INSERT INTO `t` SET a=1;", "form of INSERT"),
        ("INSERT INTO `t` SELECT 1;", "form of INSERT"),
        ("INSERT INTO `u` VALUES (1);", "columns are unknown"),
        ("INSERT INTO `t` VALUES (1,'p')", "row 1 is followed by"),
        ("INSERT INTO `t` VALUES (1,'p'),", "row 2 should begin"),
        ("INSERT INTO `t` VALUES (1,'p')(2,'q');", "row 1 is followed by"),
        ("INSERT INTO `t` VALUES (1,'p'x);", "row 1 can't"),
        ("INSERT INTO `t` VALUES (1.2.3,'p');", "row 1 can't be read"),
        ("INSERT INTO `t` VALUES (0x1G,'p');", "row 1 can't"),
    ],
)
def test_damage_is_named_and_the_next_statement_is_read(statement: str, why: str) -> None:
    items = rows(f"{TABLE}{statement}\nINSERT INTO `t` VALUES (9,'z');\n")
    (damage,) = (item for item in items if isinstance(item, Damage))
    assert why in damage.why
    assert damage.line in (6, 7)
    last = items[-1]
    assert isinstance(last, DumpRow)
    assert (last.values, last.line) == (("9", "z"), 7)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO `t` VALUES (1,", "row 1 was cut off"),
        ("INSERT INTO `t` VALUES (1,'p'),", "row 2 is missing"),
        ("INSERT INTO `t` VALUES (1,'p')", "without a semicolon"),
        ("INSERT INTO `t` VALUES (1,'p'),(2,'q", "row 2 can't"),
        ("/* no end", "a comment does not end"),
    ],
)
def test_a_text_that_ends_in_a_statement_was_cut_off(statement: str, why: str) -> None:
    last = rows(TABLE + statement)[-1]
    assert isinstance(last, Damage)
    assert why in last.why


def test_rows_on_separate_lines_are_read_after_a_damaged_one() -> None:
    items = rows(f"{TABLE}INSERT INTO `t` VALUES\n(1,'p'),\n(2,'q),\n(3,'r');\n")
    assert [(type(item).__name__, item.line) for item in items] == [("DumpRow", 7), ("Damage", 8), ("DumpRow", 9)]


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE `t` (\n  `a` int(11\n;\n",
        "CREATE TABLE `t` (\n `a` int,\n `a` int);\n",
        "CREATE TABLE `t` (`a` int 'x);\n",
    ],
)
def test_a_broken_definition_is_damage_and_so_are_rows_without_columns(definition: str) -> None:
    items = rows(f"{definition}INSERT INTO `t` VALUES (1,'p');\nINSERT INTO `t` (`a`) VALUES (1);\n")
    assert [type(item).__name__ for item in items] == ["Damage", "Damage", "DumpRow"]


def test_rows_lost_by_a_damaged_insert_are_always_reported() -> None:
    statement = "INSERT INTO `t` VALUES (1,'p');\n"
    for wanted in (None, frozenset({"t"})):
        for at in range(statement.index("(")):
            for byte in "x~`'":
                damaged = f"{TABLE}{statement[:at]}{byte}{statement[at + 1 :]}"
                items = list(rows_of(damaged, source="d.sql", tables=wanted))
                assert len(items) == 1
                assert isinstance(items[0], Damage) or items[0].values == ("1", "p")


def test_a_comment_that_lost_its_end_does_not_hide_the_rows_after_it() -> None:
    text = f"{TABLE}/*!40000 ALTER TABLE `t` DISABLE KEYS *x;\nINSERT INTO `t` VALUES (1,'p');\n/*!40000 ENABLE */;\n"
    assert [type(item).__name__ for item in rows(text)] == ["Damage", "DumpRow"]


def test_a_dump_without_its_last_line_was_cut_off() -> None:
    whole = f"-- MySQL dump 10.13\n{TABLE}INSERT INTO `t` VALUES (1,'p');\n-- Dump completed on 2014-01-01\n"
    assert len(rows(whole)) == 1
    cut = rows(whole.removesuffix("-- Dump completed on 2014-01-01\n"))
    assert [type(item).__name__ for item in cut] == ["DumpRow", "Damage"]


def test_a_text_without_tables_is_refused() -> None:
    with pytest.raises(FormatError, match="no CREATE TABLE"):
        rows("hello\n")
    assert is_dump(b"-- MariaDB dump 10.19\n")
    assert is_dump(b"/*M!999999\\- enable the sandbox mode */\n-- MariaDB dump 10.19\n")
    assert not is_dump(b"SELECT 1;\n")


@given(st.lists(st.tuples(st.integers(), st.none() | st.text(st.characters(codec="utf-8"))), min_size=1))
def test_any_text_is_read_back_unchanged(pairs: list[tuple[int, str | None]]) -> None:
    def written(text: str | None) -> str:
        if text is None:
            return "NULL"
        for plain, letter in (("\\", "\\"), ("\0", "0"), ("\n", "n"), ("\r", "r"), ("'", "'"), ("\x1a", "Z")):
            text = text.replace(plain, f"\\{letter}")
        return f"'{text}'"

    text = ",".join(f"({number},{written(word)})" for number, word in pairs)
    assert values(f"{TABLE}INSERT INTO `t` VALUES {text};\n") == [(str(number), word) for number, word in pairs]


def test_damaged_dumps_give_rows_or_named_damage_and_no_other_error() -> None:
    for damaged in mutations(aloja_mini.dump().encode(), fuzz_count()):
        text = damaged.decode("latin-1")
        try:
            items = rows(text)
        except FormatError:
            continue
        lines = text.count("\n") + 1
        assert all(1 <= item.line <= lines for item in items)
        assert all(len(item.values) == len(item.columns) for item in items if isinstance(item, DumpRow))
