"""Scalable differential privacy with certified robustness in adversarial learning."""
