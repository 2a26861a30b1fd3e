"""What a cluster must keep, from texts as commands and forms have them."""

from assay.foundation.errors import SpecificationError
from assay.foundation.units import parse_bytes, parse_duration, parse_money
from assay.model import PriceBook
from assay.questions.recommendation.search import Limits

_YEARS_MAX = 100.0
_LONGEST = 40


def limits_of(book: PriceBook, budget: str, deadline: str, capacity: str, years: float = 3.0) -> Limits:
    """Return the limits; an empty text is none. Raises SpecificationError, in words, for what is no amount."""
    if not 0 < years <= _YEARS_MAX:
        raise SpecificationError(f"it can't be used for {years:g} years", where="years", hint="3 is usual")
    for text in (budget, deadline, capacity):
        if len(text) > _LONGEST:
            raise SpecificationError(f"{text[:12]!r}… is too long for an amount", where="limits")
    try:
        money = parse_money(budget, book.currency) if budget else None
        deadline_s = parse_duration(deadline) if deadline else None
        capacity_bytes = float(parse_bytes(capacity)) if capacity else 0.0
    except ValueError as error:
        raise SpecificationError(str(error), where="limits", hint="such as 100k, $100,000, 2h, 200TB") from error
    if deadline_s is not None and not deadline_s > 0:
        raise SpecificationError("a deadline must be more than 0", where="deadline")
    amount = None
    if money is not None:
        if money.amount <= 0:
            raise SpecificationError("a budget must be more than 0", where="budget")
        amount = float(money.amount)
        if money.currency != book.currency:
            if money.currency not in book.exchange:
                raise SpecificationError(
                    f"the budget is in {money.currency}, the price book {book.name} in {book.currency}, and it has no "
                    "exchange rate",
                    where="budget",
                    hint=f"give it in {book.currency}, or add the rate to the book",
                )
            amount *= float(book.exchange[money.currency].rate)
    return Limits(amount, deadline_s, capacity_bytes, years)
