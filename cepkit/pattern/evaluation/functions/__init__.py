"""The shelf of functions that a condition may call; a new one follows contract.py."""

from cepkit.pattern.evaluation.functions import angles, correlation, numbers, texts, times
from cepkit.pattern.evaluation.functions.contract import Function
from cepkit.shelf import Shelf

FUNCTIONS: Shelf[Function] = Shelf(
    "function",
    (numbers.ABS, "the absolute value"),
    (numbers.SQRT, "the square root; of a negative number it is missing"),
    (numbers.EXP, "e to the power of x"),
    (numbers.LOG, "the natural logarithm; missing for a value that is not positive"),
    (numbers.LOG10, "the logarithm to base ten; missing for a value that is not positive"),
    (numbers.POWER, "x to the power of y, a float; missing if that is not a number"),
    (numbers.MOD, "the same as x % y: the remainder, with the sign of x"),
    (numbers.SIGN, "1, 0 or -1"),
    (numbers.FLOOR, "the greatest whole number up to x; of a float a float"),
    (numbers.CEIL, "the least whole number from x on; of a float a float"),
    (numbers.ROUND, "the nearest whole number, of two the even one; of a float a float"),
    (numbers.LEAST, "the least of two or more numbers, times or durations"),
    (numbers.GREATEST, "the greatest of two or more numbers, times or durations"),
    (angles.SIN, "the sine of an angle in radians"),
    (angles.COS, "the cosine of an angle in radians"),
    (angles.TAN, "the tangent of an angle in radians"),
    (angles.ASIN, "the angle of a sine, in radians; missing outside of -1 to 1"),
    (angles.ACOS, "the angle of a cosine, in radians; missing outside of -1 to 1"),
    (angles.ATAN, "the angle of a tangent, in radians"),
    (angles.ATAN2, "the angle of the point (x, y), in radians, -pi to pi"),
    (angles.RADIANS, "degrees as radians"),
    (angles.DEGREES, "radians as degrees"),
    (angles.HAVERSINE, "the distance of two places on Earth in kilometres, from degrees"),
    (times.YEAR, "the year of a time"),
    (times.MONTH, "the month, 1 to 12"),
    (times.WEEK, "the week by ISO 8601, 1 to 53: that of the year's first Thursday is 1"),
    (times.DAY, "the day of the month, 1 to 31"),
    (times.HOUR, "the hour, 0 to 23"),
    (times.MINUTE, "the minute, 0 to 59"),
    (times.SECOND, "the whole second, 0 to 59"),
    (times.WEEKDAY, "the day of the week, 1 for Monday to 7 for Sunday"),
    (times.DATE, "the time at which the day began"),
    (times.WEEK_START, "the time at which the week began, a Monday"),
    (texts.LOWER, "the text in lower case"),
    (texts.UPPER, "the text in upper case"),
    (texts.TRIM, "the text without white space at its ends"),
    (texts.LENGTH, "the number of characters"),
    (texts.SUBSTRING, "count characters (else all) from the place start on; the first is 1"),
    (texts.STARTS_WITH, "true where the text begins with the part; case counts"),
    (texts.ENDS_WITH, "true where the text ends with the part; case counts"),
    (texts.CONTAINS, "true where the part is in the text; case counts"),
    (texts.REPLACE, "the text with new in place of each old"),
    (texts.CONCAT, "the texts one after the other"),
    (texts.LIKE, "`text LIKE pattern`: % is any characters, _ one; case counts"),
    (texts.ILIKE, "`text ILIKE pattern`: LIKE, in upper or lower case"),
    (texts.MATCHES, "`text MATCHES regex`: whether a regular expression is found in the text"),
    (correlation.CORR, "Pearson's correlation of two arrays of one length"),
    method="kind",
)
"""Every function of the language by name; aggregates of KL sets are in `set_functions.py`."""

USAGE = {FUNCTIONS[name].usage: line for name, line in FUNCTIONS.help.items()}
"""The usage of each function, with its line of help."""
