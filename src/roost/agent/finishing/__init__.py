"""After the script: outputs and logs are kept, the end is explained and reported."""
