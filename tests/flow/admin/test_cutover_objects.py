"""What is on the source's tables and not on the target's is missing for a cut-over, with its statement."""

from __future__ import annotations

import pytest

from tests.flow.admin.test_cutover_check import check, missing
from tests.support.replica import BOTH, Make, Replica, run

SHOP = (
    "CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text NOT NULL UNIQUE)",
    "CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers ON DELETE CASCADE,"
    " amount int CHECK (amount > 0), placed date DEFAULT now())",
    "CREATE INDEX on_customer ON orders (customer)",
    "CREATE INDEX large ON orders (placed) WHERE amount > 1000",
    "CREATE UNIQUE INDEX once_a_day ON orders (customer, placed)",
    "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE TRIGGER noted BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION noted()",
    "INSERT INTO customers (email) VALUES ('a@b')",
    "INSERT INTO orders VALUES (1, 1, 10)",
)


def statements(replica: Replica, *codes: str) -> list[str]:
    """The statements that make what is missing, foreign keys last."""
    found = [text for one in check(replica).conditions if one.code in codes for text in one.found]
    return sorted((text.split(": ", 2)[2] for text in found), key=lambda text: " FOREIGN KEY " in text)


@BOTH
def test_constraints_indexes_and_triggers_that_the_target_lacks(make: Make) -> None:
    replica = make(*SHOP, db_sequence=True)
    replica.settle()
    told = missing(replica)
    assert {"CUT-120", "CUT-122", "CUT-123"} <= set(told)
    assert "public.orders: foreign key orders_customer_fkey: ALTER TABLE public.orders ADD" in told["CUT-120"]
    assert "check orders_amount_check" in told["CUT-120"] and "unique key once_a_day: CREATE UNIQUE" in told["CUT-120"]
    assert "customers_email_key" in told["CUT-120"] and "customers_pkey" not in told["CUT-120"]
    assert "index on_customer" in told["CUT-122"] and "index large" in told["CUT-122"]
    assert "trigger noted: CREATE TRIGGER noted" in told["CUT-123"]
    assert not check(replica).is_ready

    run(replica.target, SHOP[5])
    run(replica.target, *statements(replica, "CUT-120", "CUT-122", "CUT-123"))
    assert not {"CUT-120", "CUT-122", "CUT-123"} & set(missing(replica))
    replica.settle()


@BOTH
def test_what_is_not_in_force_at_the_target(make: Make) -> None:
    replica = make(*SHOP, db_sequence=True)
    run(replica.target, SHOP[5], *statements(replica, "CUT-120", "CUT-122", "CUT-123"))
    assert "CUT-121" not in missing(replica)
    run(
        replica.target,
        "ALTER TABLE orders ENABLE REPLICA TRIGGER noted",
        "ALTER TABLE orders DROP CONSTRAINT orders_amount_check, DROP CONSTRAINT orders_customer_fkey",
        "ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount > 0) NOT VALID",
        "ALTER TABLE orders ADD CONSTRAINT known FOREIGN KEY (customer) REFERENCES customers ON DELETE CASCADE"
        " NOT VALID",
    )
    told = missing(replica)
    assert list(told) == ["CUT-121"]
    assert set(told["CUT-121"].split("; ")) == {
        "public.orders: check positive",
        "public.orders: foreign key known",
        "public.orders: trigger noted",
    }
    run(
        replica.target,
        "ALTER TABLE orders ENABLE TRIGGER noted, VALIDATE CONSTRAINT positive, VALIDATE CONSTRAINT known",
    )
    assert missing(replica) == {}
    run(replica.target, "ALTER TABLE orders DISABLE TRIGGER ALL")  # those of the foreign key, too
    told = missing(replica)
    assert set(told["CUT-121"].split("; ")) == {"public.orders: foreign key known", "public.orders: trigger noted"}
    replica.at_source("ALTER TABLE orders DISABLE TRIGGER noted")
    assert missing(replica)["CUT-121"] == "public.orders: foreign key known"  # it is off at the source, too


@pytest.mark.parametrize("databases", [15], indirect=True)  # its role may leave the check of foreign keys out
def test_rows_that_break_a_foreign_key_which_the_server_takes_for_valid(make: Make) -> None:
    replica = make(*SHOP, restrict=[{"tables": "customers", "condition": "id < 2"}])
    run(replica.target, *statements(replica, "CUT-120"))
    replica.at_source("INSERT INTO customers (email) VALUES ('c@d')", "INSERT INTO orders VALUES (2, 2, 10)")
    replica.replicate()
    found = {one.code.value: one.found for one in check(replica, compares=True).conditions if one.found}
    assert found["CUT-125"] == ("public.orders: foreign key orders_customer_fkey",)


def test_names_of_the_target_are_minded(make: Make) -> None:
    replica = make(
        *SHOP,
        db_sequence=True,
        adapt_ddl=[{"add_table_pattern": "*", "capture_schema": "public", "integrate_schema": "shop"}],
        table_properties=[{"tables": "orders", "name": "sales"}],
        column_properties=[{"tables": "orders", "columns": "amount", "name": "total"}],
    )
    assert "shop.sales: index large" in missing(replica)["CUT-122"]
    run(
        replica.target,
        "SET search_path = shop",
        "ALTER TABLE shop.customers ADD UNIQUE (email)",
        "ALTER TABLE shop.sales ADD CHECK (total > 0), ADD FOREIGN KEY (customer) REFERENCES shop.customers"
        " ON DELETE CASCADE",
        "CREATE INDEX ON shop.sales (customer)",
        "CREATE INDEX ON shop.sales (placed) WHERE total > 1000",
        "CREATE UNIQUE INDEX ON shop.sales (placed, customer)",
    )
    assert list(missing(replica)) == ["CUT-123"]  # the trigger alone


def test_properties_of_columns_that_the_target_lacks(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, day date NOT NULL DEFAULT now(),"
        " n int, double int GENERATED ALWAYS AS (n * 2) STORED)",
        db_sequence=True,
    )
    assert missing(replica) == {}
    run(
        replica.target,
        "ALTER TABLE t ALTER id DROP IDENTITY, ALTER day DROP DEFAULT, ALTER day DROP NOT NULL,"
        " ALTER double DROP EXPRESSION",
    )
    assert missing(replica)["CUT-124"].split("; ") == [
        "public.t: column id: ALTER COLUMN … ADD GENERATED BY DEFAULT AS IDENTITY",
        "public.t: column day: ALTER COLUMN … SET DEFAULT now()",
        "public.t: column day: ALTER COLUMN … SET NOT NULL",
        "public.t: column double: it is no generated column ((n * 2))",
    ]


def test_of_a_partitioned_table_what_is_made_on_it_is_looked_at(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int, day int, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE INDEX by_note ON p (note)",
        "ALTER TABLE p ADD CHECK (day >= 0)",
    )
    told = missing(replica)
    assert told["CUT-122"] == "public.p: index by_note: CREATE INDEX by_note ON public.p USING btree (note);"
    run(replica.target, *statements(replica, "CUT-120", "CUT-122"))
    assert missing(replica) == {}
