-- While any session of the database stays idle in a transaction, nothing can be vacuumed and each claim reads past more
-- dead rows. So the database ends such sessions, unless it has a limit already, or was given none on purpose. Only its
-- owner may set this; `atelier doctor` reports a database without a limit.
do $$
begin
  if current_setting('idle_in_transaction_session_timeout') = '0' and not exists (
    select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase, unnest(s.setconfig) config
    where d.datname = current_database() and config like 'idle_in_transaction_session_timeout=%'
  ) then
    execute format('alter database %I set idle_in_transaction_session_timeout = %L', current_database(), '60s');
  end if;
exception
  when insufficient_privilege then
    raise notice 'this role may not set idle_in_transaction_session_timeout for its database';
end $$;
