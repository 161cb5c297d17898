"""Published weights become runs (Marian's), and runs become what other runtimes open (Marian, CTranslate2, ONNX)."""
