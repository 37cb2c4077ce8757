"""Keys and what they allow: who may come in, as which tenant, for whom, with which rights."""
