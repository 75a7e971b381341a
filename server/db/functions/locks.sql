-- Advisory locks that SQL and TypeScript share, each until the end of the transaction. The names stand here alone; their hashes
-- are those of older versions, since processes of two versions overlap.

-- Excludes all other dispatches of the queue: nothing leaves its line or enters its window meanwhile.
create or replace function lock_line(p_queue text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtext('dispatch'), hashtext(p_queue))
$$;

-- The same, or false at once while another transaction holds it.
create or replace function try_lock_line(p_queue text) returns boolean language sql as $$
  select pg_try_advisory_xact_lock(hashtext('dispatch'), hashtext(p_queue))
$$;

-- Waits for other submits of the owner, which count each other.
create or replace function lock_submits(p_owner text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtext('submit'), hashtext(p_owner))
$$;

-- Waits for submits of all owners to a line that is nearly full.
create or replace function lock_crowded_line(p_queue text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtext('line'), hashtext(p_queue))
$$;

-- Waits for all other purchases that are being stored.
create or replace function lock_spend() returns void language sql as $$
  select pg_advisory_xact_lock(hashtext('spend'), 0)
$$;
