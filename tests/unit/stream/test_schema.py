import pytest

from cepkit.errors import StreamError
from cepkit.stream import Schema


def test_carried_columns_are_time_type_and_chosen_ones_in_source_order():
    schema = Schema("ts", "kind", columns=("b",))
    assert schema.carried(["a", "b", "kind", "ts"]) == ("b", "kind", "ts")
    assert schema.needed(["a", "b", "c", "kind", "ts"], ["c"]) == ("b", "c", "kind", "ts")


def test_all_columns_are_carried_by_default():
    assert Schema("ts", "kind").carried(["x", "ts", "kind"]) == ("x", "ts", "kind")


def test_one_column_cannot_be_time_and_type():
    with pytest.raises(StreamError, match="both the time and the type"):
        Schema("ts", "ts")


@pytest.mark.parametrize("name", [None, 3])
def test_columns_are_named_by_texts(name):
    with pytest.raises(StreamError, match="name of a column"):
        Schema(name, "kind")


def test_an_unknown_unit_is_refused_with_the_known_ones():
    with pytest.raises(StreamError) as error:
        Schema("ts", "kind", unit="sec")
    assert "s, ms, us, ns, min, h, d" in str(error.value)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Copenhagen", "America/New_York", "+02:00"])
def test_known_zones_are_taken(zone):
    assert Schema("ts", "kind", timezone=zone).timezone == zone


@pytest.mark.parametrize("zone", ["Europe/Kopenhagen", "", "../etc/passwd", "+2", "+25:00", 5])
def test_unknown_zones_are_refused(zone):
    with pytest.raises(StreamError, match="not a known time zone"):
        Schema("ts", "kind", timezone=zone)


def test_misspelt_zone_is_refused_with_the_nearest_name():
    with pytest.raises(StreamError, match="Europe/Copenhagen"):
        Schema("ts", "kind", timezone="Europe/Kopenhagen")


@pytest.mark.parametrize("zone", ["CEST", "PST", "UTC+2", "GMT+2"])
def test_zone_by_an_abbreviation_or_offset_gets_no_other_zone_as_a_hint(zone):
    with pytest.raises(StreamError) as error:
        Schema("ts", "kind", timezone=zone)
    assert error.value.hint is None


def test_unknown_column_that_is_a_field_of_a_struct_is_refused_with_its_full_name():
    with pytest.raises(StreamError, match=r"did you mean 'event\.kind'"):
        Schema("ts", "kind").check(["ts", "event.kind", "user.name"])


def test_unknown_column_is_refused_with_the_nearest_name():
    with pytest.raises(StreamError, match="did you mean 'price'"):
        Schema("ts", "kind").check(["ts", "kind", "price"], ["prize"])


def test_a_doubled_column_is_refused():
    with pytest.raises(StreamError, match="more than one column 'x'"):
        Schema("ts", "kind").check(["ts", "kind", "x", "x"])
