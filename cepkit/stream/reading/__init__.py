"""Files, frames and tables read as events: their columns, types and times."""
