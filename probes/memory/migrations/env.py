"""On which connection does Alembic work? On the one that it is given, in that one's transaction."""

from alembic import context

from probes.memory.schema import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
