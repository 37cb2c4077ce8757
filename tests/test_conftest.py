"""The ground the other tests stand on."""

import socket
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from sqlalchemy import make_url

from lamina.kernel.clock import ManualClock
from tests.network_guard import OutsideConnectionError, is_loopback, stays_inside
from tests.postgres import Lending


def test_a_store_address_is_empty_and_can_be_written_on_each_engine(bare_store_url: str) -> None:
    engine = sqlalchemy.create_engine(bare_store_url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE only_here (id INTEGER)"))
    assert sqlalchemy.inspect(engine).get_table_names() == ["only_here"]
    engine.dispose()


def test_each_test_gets_a_database_of_its_own(bare_store_url: str) -> None:
    engine = sqlalchemy.create_engine(bare_store_url)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()


def test_a_database_is_lent_again_without_rows_and_counting_from_one(migrated_databases: Lending) -> None:
    urls = []
    for _ in range(2):
        with migrated_databases.lent() as url:
            urls.append(url)
            with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string()) as connection:
                added = "INSERT INTO audit_log (tenant, at, action, actor, details) VALUES ('t', 1, 'a', 'b', '{}')"
                assert connection.execute(f"{added} RETURNING row").fetchone() == (1,)
                assert connection.execute("SELECT count(*) FROM audit_log").fetchone() == (1,)
    assert urls[0] == urls[1]


@pytest.mark.parametrize(
    "change",
    ["DROP TABLE alembic_version", "ALTER TABLE memory ADD COLUMN extra int", "CREATE INDEX extra ON memory (tenant)"],
)
def test_a_database_whose_tables_were_changed_is_not_lent_again(migrated_databases: Lending, change: str) -> None:
    with (
        migrated_databases.lent() as first,
        psycopg.connect(make_url(first).set(drivername="postgresql").render_as_string()) as connection,
    ):
        connection.execute(change)
    with migrated_databases.lent() as second:
        assert second != first


def test_the_postgres_server_offers_vectors(fresh_postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(fresh_postgres_url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE EXTENSION vector"))
        distance = connection.execute(sqlalchemy.text("SELECT '[1,0]'::vector <=> '[0,1]'::vector")).scalar_one()
    assert distance == 1.0
    engine.dispose()


def test_connecting_to_the_outside_is_refused() -> None:
    with socket.socket() as outside, pytest.raises(OutsideConnectionError):
        outside.connect(("192.0.2.1", 80))
    with socket.socket() as outside, pytest.raises(OutsideConnectionError):
        outside.connect_ex(("192.0.2.1", 80))


def test_sending_a_datagram_to_the_outside_is_refused() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as outside, pytest.raises(OutsideConnectionError):
        outside.sendto(b"x", ("192.0.2.1", 53))


def test_resolving_an_outside_name_is_refused() -> None:
    with pytest.raises(OutsideConnectionError):
        socket.getaddrinfo("example.org", 443)


def test_loopback_stays_reachable() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        client.sendall(b"x")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", b"localhost", None])
def test_this_machine_is_inside(host: object) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "169.254.169.254", "0.0.0.0", "localhost.example.org", "::", b"example.org"]
)
def test_every_other_machine_is_outside(host: object) -> None:
    assert not is_loopback(host)


def test_a_unix_socket_is_inside(tmp_path: Path) -> None:
    assert stays_inside(socket.AF_UNIX, str(tmp_path / "socket"))


def test_the_clock_moves_only_when_told(clock: ManualClock) -> None:
    before = clock.now()
    clock.advance(60)
    assert (clock.now() - before).total_seconds() == 60
