"""These modules lead from two shapes of a table to a plan: verdict, response, SQL steps."""
