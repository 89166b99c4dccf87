"""The nouns: frozen, typed, standard library only. Everything else imports them; they import nothing."""
