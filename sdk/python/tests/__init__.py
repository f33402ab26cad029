"""Tests of the SDK, run natively: `python3 -m unittest` in the folder above."""
