"""Trees of nodes: children in the order of the text, copies with other children."""

from cepkit.errors import Span
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.trees import children, mapped, walk

PLACE = Span("a.x < b.x", 0, 9)
X, Y = c.Attribute("a", "x"), c.Attribute("b", "x")
LESS = c.Comparison("<", X, Y, PLACE)


def test_children_come_in_the_order_of_the_text():
    assert children(c.Between(X, c.Literal(1), Y)) == (X, c.Literal(1), Y)
    assert children(c.InList(X, (Y, c.Literal(1)))) == (X, Y, c.Literal(1))
    assert children(X) == ()


def test_children_of_a_set_are_its_item_and_the_event_after_until():
    item, until = n.Event("b", frozenset("B")), n.Event("c", frozenset("C"))
    assert children(n.Kleene(item)) == (item,)
    assert children(n.Kleene(item, until=until)) == (item, until)


def test_kinds_of_an_event_are_no_children():
    kind = n.Kind("hot", None, LESS)
    assert children(n.Event("a", None, kinds=(kind,))) == ()


def test_walk_yields_a_node_before_those_below_it():
    whole = c.AllOf((LESS, c.Complement(LESS)))
    assert list(walk(whole)) == [whole, LESS, X, Y, c.Complement(LESS), LESS, X, Y]


def test_mapped_changes_children_and_keeps_all_else():
    call = c.Call("f", (X, Y), PLACE, zone="Europe/Oslo")
    new = mapped(call, c.Negative)
    assert new == c.Call("f", (c.Negative(X), c.Negative(Y)), zone="Europe/Oslo")
    assert new.span is PLACE
    assert call.arguments == (X, Y)


def test_mapped_node_drops_cached_values():
    assert LESS.variables == {"a", "b"}
    assert mapped(LESS, lambda _: X).variables == {"a"}
