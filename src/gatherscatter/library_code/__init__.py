"""A gather or scatter call as source code in other libraries: one module for each of them.

``code`` gives the lines of a script with the operator's result. ``plain_code`` gives the library's own function for the
operator, with nothing around it; where that function differs from the operator, so does its result. The variables are
named as the inputs.
"""
