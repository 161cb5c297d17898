"""Published parameters become runs, by family (Marian's so far), and runs become what other runtimes open."""
