-- Tells programs that read this database of each status of a question, in the form that they know: docs/clients.md. The
-- product's own processes listen to the channel of note_assistant_run.
create function tell_pipeline_listeners() returns trigger language plpgsql as $$
begin
  if current_setting('atelier.is_loading', true) = 'on' then return null; end if;
  perform pg_notify('pipeline_events',
    json_build_object('id', new.id, 'status', upper(new.status), 'operation', tg_op)::text);
  return null;
end $$;
--> statement-breakpoint
create trigger assistant_runs_tell after insert or update of status on assistant_runs
  for each row execute function tell_pipeline_listeners();
