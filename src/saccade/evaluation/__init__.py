"""Metrics, thin over the field's libraries."""
