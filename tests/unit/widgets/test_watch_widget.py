"""A query is followed live until it ends; in a saved notebook its table is left."""

from __future__ import annotations

from types import SimpleNamespace

from cepkit.spark.streaming.watching import watch
from cepkit_widgets import WatchWidget


class Query:
    """Stands for Spark's."""

    def __init__(self):
        self.isActive, self.name, self.recentProgress = True, "<b>views</b>", []

    def stop(self):
        self.isActive = False

    def exception(self):
        return None

    def ran(self, batch, **counts):
        observed = SimpleNamespace(asDict=lambda: {"plans": [], **counts})
        self.recentProgress.append(
            SimpleNamespace(
                batchId=batch,
                numInputRows=10,
                processedRowsPerSecond=20.0,
                timestamp="2024-01-01T00:00:05.000Z",
                eventTime={"watermark": "2024-01-01T00:00:00.000Z"},
                durationMs={"triggerExecution": 1500},
                stateOperators=[],
                observedMetrics={"cepkit": observed},
            )
        )


def test_totals_count_each_batch_once():
    query = Query()
    watched = watch(query)
    query.ran(0, match=2)
    assert watched.totals()["match"] == 2
    late = {"late": 1, "late_first": 5_000_000, "late_last": 5_000_000, "lateness": 2_000}
    query.ran(1, match=3, events=10, looked=15, **late)
    # Spark keeps the last hundred only.
    del query.recentProgress[0]
    assert watched.totals()["match"] == 5
    assert list(watched.table().index) == [0, 1]
    assert watched.table()["seconds"].tolist() == [1.5, 1.5]
    assert watched.table()["behind"].tolist() == [5, 5]
    assert watched.table()["rows_per_second"].tolist() == [20, 20]
    assert "late 1" in repr(watched)
    assert "each event looked at 1.5 times" in repr(watched)
    assert "ahead" not in repr(watched)
    assert "<b>views" not in watched._repr_html_()


def test_the_widget_follows_and_stops():
    query = Query()
    widget = WatchWidget(query, seconds=0.01)
    query.ran(0, match=7)
    widget.refresh()
    table, button = widget.children
    assert "match 7" in table.value
    button.click()
    assert not query.isActive
    assert button.disabled
    widget._thread.join(300)
    assert not widget._thread.is_alive()
    assert "match 7" in widget._repr_mimebundle_()["text/html"]
