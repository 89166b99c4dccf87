"""The names that functions of rules imported before `streams/queue/` had them: both stay importable from here."""
