-- The account of the workers belongs to no person: it has no password, no session and no API key. A CHECK sees one table
-- only, so triggers keep the rule. The lock on the user's row settles a new password beside a change of the role.
create function forbid_service_sign_in() returns trigger language plpgsql as $$
begin
  -- A backup from before may hold such a row; without a session it lets nobody in.
  if tg_table_name = 'credentials' and current_setting('atelier.is_loading', true) = 'on' then
    return new;
  end if;
  perform from users u where u.id = to_jsonb(new) ->> tg_argv[0] for share;
  if exists (
    select from users u
    where u.id = to_jsonb(new) ->> tg_argv[0] and 'service' = any (string_to_array(u.role, ','))
  ) then
    raise exception 'the account of the workers cannot sign in'
      using errcode = 'check_violation', constraint = 'service_cannot_sign_in';
  end if;
  return new;
end $$;
--> statement-breakpoint
create function forbid_service_with_sign_in() returns trigger language plpgsql as $$
begin
  if 'service' = any (string_to_array(new.role, ',')) and (
    exists (select from credentials c where c.user_id = new.id)
    or exists (select from sessions s where s.user_id = new.id)
    or exists (select from api_keys k where k.reference_id = new.id)
  ) then
    raise exception 'an account that can sign in is not the account of the workers'
      using errcode = 'check_violation', constraint = 'service_cannot_sign_in';
  end if;
  return new;
end $$;
--> statement-breakpoint
delete from credentials c using users u where u.id = c.user_id and 'service' = any (string_to_array(u.role, ','));
--> statement-breakpoint
delete from sessions s using users u where u.id = s.user_id and 'service' = any (string_to_array(u.role, ','));
--> statement-breakpoint
delete from api_keys k using users u where u.id = k.reference_id and 'service' = any (string_to_array(u.role, ','));
--> statement-breakpoint
create trigger service_cannot_sign_in before insert or update of user_id on credentials
  for each row execute function forbid_service_sign_in('user_id');
--> statement-breakpoint
create trigger service_cannot_sign_in before insert or update of user_id on sessions
  for each row execute function forbid_service_sign_in('user_id');
--> statement-breakpoint
create trigger service_cannot_sign_in before insert or update of reference_id on api_keys
  for each row execute function forbid_service_sign_in('reference_id');
--> statement-breakpoint
create trigger service_cannot_sign_in before update of role on users
  for each row execute function forbid_service_with_sign_in();
