"""A gather or scatter call as source code in other libraries: one module for each of them.

``code`` returns the lines of a script that computes the operator's result. ``plain_code`` returns only a call of the
library's function for the operator. If that function differs from the operator, so does its result. The variables have
the names of the inputs.
"""
