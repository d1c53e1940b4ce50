"""What did the user ask? Model, language, config. Imports no other package of ours and no Spark."""
