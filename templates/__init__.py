"""The schemas that are shipped, one TOML file each; read by ``llm_graphrag.facts.template``."""
