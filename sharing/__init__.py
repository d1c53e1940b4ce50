"""Who can share what with whom? From registered queries to one shared plan. Pure functions, no Spark."""
