from cepkit.errors import SessionError
from cepkit.spark.session.failures import error_of

REPORT = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "pyspark/serializers.py", line 490, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named '{}'
 SQLSTATE: 38000
"""


def test_report_of_workers_without_cepkit_becomes_an_error_with_what_to_set():
    error = error_of(REPORT.format("cepkit"))
    assert isinstance(error, SessionError)
    assert "no module 'cepkit'" in str(error)
    assert "PYSPARK_PYTHON" in str(error.hint)


def test_report_of_workers_without_a_module_of_the_user_is_left_to_spark():
    assert error_of(REPORT.format("cepkit_of_mine")) is None
