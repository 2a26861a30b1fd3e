"""The twenty-two questions of the decision-support workload, as SQL that both Spark and DuckDB accept.

Each query answers a business question of the TPC Benchmark H specification (revision 3.0.1, clause 2.4) with the
parameter values that the clause gives for validation. The SQL is assay's own: joins are written as JOIN, the view of
question 15 is a subquery, and the position of every row is determined, so that answers can be compared row by row.
Results are not comparable with published TPC-H results.
"""

_REVENUE = "l_extendedprice * (1 - l_discount)"

_PRICING = """
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS price,
       sum({revenue}) AS discounted, sum({revenue} * (1 + l_tax)) AS charged,
       avg(l_quantity) AS mean_quantity, avg(l_extendedprice) AS mean_price, avg(l_discount) AS mean_discount,
       count(*) AS items
FROM lineitem
WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus
"""

_CHEAPEST_SUPPLIER = """
WITH offers AS (
    SELECT ps_partkey, ps_supplycost, s_acctbal, s_name, n_name, s_address, s_phone, s_comment
    FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
         JOIN region ON r_regionkey = n_regionkey
    WHERE r_name = 'EUROPE'),
cheapest AS (SELECT ps_partkey AS cheap_part, min(ps_supplycost) AS cost FROM offers GROUP BY ps_partkey)
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part JOIN offers ON ps_partkey = p_partkey JOIN cheapest ON cheap_part = p_partkey AND cost = ps_supplycost
WHERE p_size = 15 AND p_type LIKE '%BRASS'
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100
"""

_UNSHIPPED = """
SELECT o_orderkey, sum({revenue}) AS revenue, o_orderdate, o_shippriority
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY o_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate, o_orderkey
LIMIT 10
"""

_PRIORITIES = """
SELECT o_orderpriority, count(*) AS late_orders
FROM orders
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
  AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority
"""

_LOCAL_VOLUME = """
SELECT n_name, sum({revenue}) AS revenue
FROM region JOIN nation ON n_regionkey = r_regionkey JOIN customer ON c_nationkey = n_nationkey
     JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
     JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
GROUP BY n_name
ORDER BY revenue DESC, n_name
"""

_FORECAST = """
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
"""

_TRADE = """
SELECT seller, buyer, shipped, sum(volume) AS revenue
FROM (SELECT ns.n_name AS seller, nc.n_name AS buyer, extract(YEAR FROM l_shipdate) AS shipped, {revenue} AS volume
      FROM supplier JOIN nation ns ON ns.n_nationkey = s_nationkey JOIN lineitem ON l_suppkey = s_suppkey
           JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey
           JOIN nation nc ON nc.n_nationkey = c_nationkey
      WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND ((ns.n_name = 'FRANCE' AND nc.n_name = 'GERMANY') OR (ns.n_name = 'GERMANY' AND nc.n_name = 'FRANCE'))
     ) shipping
GROUP BY seller, buyer, shipped
ORDER BY seller, buyer, shipped
"""

_MARKET_SHARE = """
SELECT ordered, sum(CASE WHEN seller = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS share
FROM (SELECT extract(YEAR FROM o_orderdate) AS ordered, {revenue} AS volume, ns.n_name AS seller
      FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
           JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey
           JOIN nation nc ON nc.n_nationkey = c_nationkey JOIN region ON r_regionkey = nc.n_regionkey
           JOIN nation ns ON ns.n_nationkey = s_nationkey
      WHERE r_name = 'AMERICA' AND p_type = 'ECONOMY ANODIZED STEEL'
        AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') market
GROUP BY ordered
ORDER BY ordered
"""

_PROFIT = """
SELECT nation, ordered, sum(amount) AS profit
FROM (SELECT n_name AS nation, extract(YEAR FROM o_orderdate) AS ordered,
             {revenue} - ps_supplycost * l_quantity AS amount
      FROM part JOIN lineitem ON l_partkey = p_partkey
           JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
           JOIN supplier ON s_suppkey = l_suppkey JOIN nation ON n_nationkey = s_nationkey
           JOIN orders ON o_orderkey = l_orderkey
      WHERE p_name LIKE '%green%') profits
GROUP BY nation, ordered
ORDER BY nation, ordered DESC
"""

_RETURNED = """
SELECT c_custkey, c_name, sum({revenue}) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
FROM customer JOIN nation ON n_nationkey = c_nationkey JOIN orders ON o_custkey = c_custkey
     JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC, c_custkey
LIMIT 20
"""

_IMPORTANT_STOCK = """
WITH stock AS (
    SELECT ps_partkey, ps_supplycost * ps_availqty AS worth
    FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
    WHERE n_name = 'GERMANY')
SELECT ps_partkey, sum(worth) AS held
FROM stock
GROUP BY ps_partkey
HAVING sum(worth) > (SELECT sum(worth) * {fraction} FROM stock)
ORDER BY held DESC, ps_partkey
"""

_SHIPPING_MODES = """
SELECT l_shipmode,
       sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_lines,
       sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END) AS low_lines
FROM orders JOIN lineitem ON l_orderkey = o_orderkey
WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
  AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
GROUP BY l_shipmode
ORDER BY l_shipmode
"""

_ORDERS_HELD = """
SELECT held, count(*) AS customers
FROM (SELECT c_custkey, count(o_orderkey) AS held
      FROM customer LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%special%requests%'
      GROUP BY c_custkey) counted
GROUP BY held
ORDER BY customers DESC, held DESC
"""

_PROMOTION = """
SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN {revenue} ELSE 0 END) / sum({revenue}) AS promoted
FROM lineitem JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'
"""

_TOP_SUPPLIER = """
WITH earned AS (
    SELECT l_suppkey, sum({revenue}) AS revenue
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'
    GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, revenue
FROM supplier JOIN earned ON l_suppkey = s_suppkey
WHERE revenue = (SELECT max(revenue) FROM earned)
ORDER BY s_suppkey
"""

_SUPPLIERS_OF_PARTS = """
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS suppliers
FROM partsupp JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
  AND NOT EXISTS (SELECT 1 FROM supplier
                  WHERE s_suppkey = ps_suppkey AND s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY suppliers DESC, p_brand, p_type, p_size
"""

_SMALL_QUANTITIES = """
SELECT sum(l_extendedprice) / 7.0 AS yearly
FROM lineitem JOIN part ON p_partkey = l_partkey
     JOIN (SELECT l_partkey AS usual_part, avg(l_quantity) AS mean FROM lineitem GROUP BY l_partkey) usual
          ON usual_part = p_partkey
WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' AND 5 * l_quantity < mean
"""

_LARGE_ORDERS = """
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate, o_orderkey
LIMIT 100
"""

_DISCOUNTED = """
SELECT sum({revenue}) AS revenue
FROM lineitem JOIN part ON p_partkey = l_partkey
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
  AND ((p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5)
    OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
        AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10)
    OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
        AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15))
"""

_EXCESS = """
WITH shipped AS (
    SELECT l_partkey, l_suppkey, 0.5 * sum(l_quantity) AS half
    FROM lineitem
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
    GROUP BY l_partkey, l_suppkey)
SELECT s_name, s_address
FROM supplier JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = 'CANADA' AND s_suppkey IN (
    SELECT ps_suppkey
    FROM partsupp JOIN part ON p_partkey = ps_partkey
         JOIN shipped ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
    WHERE p_name LIKE 'forest%' AND ps_availqty > half)
ORDER BY s_name
"""

_WAITING = """
SELECT s_name, count(*) AS waits
FROM supplier JOIN nation ON n_nationkey = s_nationkey JOIN lineitem late ON late.l_suppkey = s_suppkey
     JOIN orders ON o_orderkey = late.l_orderkey
WHERE n_name = 'SAUDI ARABIA' AND o_orderstatus = 'F' AND late.l_receiptdate > late.l_commitdate
  AND EXISTS (SELECT 1 FROM lineitem other
              WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey)
  AND NOT EXISTS (SELECT 1 FROM lineitem other
                  WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey
                    AND other.l_receiptdate > other.l_commitdate)
GROUP BY s_name
ORDER BY waits DESC, s_name
LIMIT 100
"""

_IDLE_CUSTOMERS = """
WITH chosen AS (
    SELECT c_custkey, c_acctbal, substring(c_phone, 1, 2) AS country
    FROM customer
    WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
SELECT country, count(*) AS customers, sum(c_acctbal) AS balance
FROM chosen
WHERE c_acctbal > (SELECT avg(c_acctbal) FROM chosen WHERE c_acctbal > 0.00)
  AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
GROUP BY country
ORDER BY country
"""

_QUESTIONS = (
    _PRICING,
    _CHEAPEST_SUPPLIER,
    _UNSHIPPED,
    _PRIORITIES,
    _LOCAL_VOLUME,
    _FORECAST,
    _TRADE,
    _MARKET_SHARE,
    _PROFIT,
    _RETURNED,
    _IMPORTANT_STOCK,
    _SHIPPING_MODES,
    _ORDERS_HELD,
    _PROMOTION,
    _TOP_SUPPLIER,
    _SUPPLIERS_OF_PARTS,
    _SMALL_QUANTITIES,
    _LARGE_ORDERS,
    _DISCOUNTED,
    _EXCESS,
    _WAITING,
    _IDLE_CUSTOMERS,
)
_FRACTION = 0.0001
"""Minimum share of the stock's value in question 11 at scale factor 1; smaller at larger factors (clause 2.4.11.3)."""


def queries(scale_factor: float) -> tuple[str, ...]:
    """Return the SQL of questions 1 to 22, each on one line."""
    fraction = f"{_FRACTION / scale_factor:.12f}"
    return tuple(
        " ".join(text.replace("{fraction}", fraction).replace("{revenue}", _REVENUE).split()) for text in _QUESTIONS
    )
