import type { Stage } from "./stage.ts";

const historyDays = 90;
/** Only these have their stories. */
const storyDays = 1;
const openJobs = 300;

/** Ended jobs of 90 days, and a few hundred open ones, with owners, kinds, statuses and times spread as a studio has them. */
export async function seedHistory(stage: Stage, jobs: number): Promise<void> {
  const users = Math.max(50, Math.round(jobs / 500));
  await stage.run(seedNodes(users));
  const indexes = await stage.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
      where tablename = 'jobs' and indexname <> 'jobs_pkey'`,
  );
  await stage.run(indexes.map(({ name }) => `drop index ${name}`).join(";"));
  await stage.run(`${quickly}; ${endedJobs(jobs, users)}; ${waitingJobs(users)}; ${stories}; ${pictures}`);
  await stage.run(indexes.map(({ definition }) => definition).join(";"));
  await stage.run("vacuum analyze");
}

/** Foreign keys hold by construction here; checking them would take most of the time. */
const quickly = "set session_replication_role = replica; set synchronous_commit = off";

function seedNodes(users: number): string {
  return `
    insert into users (id, name, email, email_verified, is_anonymous, created_at, updated_at)
    select 'user-' || lpad(u::text, 6, '0'), 'Person ' || u, 'person-' || u || '@bench.invalid', true, u % 4 = 0,
      now() - interval '${historyDays} days' * random(), now()
    from generate_series(0, ${users - 1}) u;
    insert into nodes (id, name, hostname, boot_id, pid, pid_started_at, capability, state, started_at, seen_at, ended_at)
    select uuidv7(), 'node-' || n, 'bench', 'bench', n, '0',
      '{"cores":8,"memoryBytes":17179869184,"gpus":[],"kinds":["upscale"],"engines":["local"]}',
      case when n < 6 then 'active' else 'gone' end, now() - interval '1 day', now(), case when n < 6 then null else now() end
    from generate_series(0, 40) n;
    insert into node_queues (node_id, queue, slots, needs, seen_needs)
    select n.id, q.queue, 4, q.needs, q.needs from nodes n, (values
      ('gpu-high', array['comfyui/t2i_sdxl', 'comfyui/tryon_qwen_edit_2511', 'comfyui/t2i_sd15']),
      ('cpu-light', array['local/upscale', 'local/remove_background'])) q(queue, needs) where n.state = 'active';
    insert into engine_servers (node_id, url, engine, label, state, device, vram_total_bytes, needs, missing, sources)
    select n.id, 'http://10.0.0.' || s || ':8188', 'comfyui', '10.0.0.' || s || ':8188', 'healthy', 'cuda', 25769803776,
      array['comfyui/t2i_sdxl', 'comfyui/t2i_sd15'], '{}', array['static']
    from nodes n, generate_series(1, 4) s where n.state = 'active'`;
}

const kinds = `(values (0, 'text_to_image', 'comfyui', 't2i_sdxl', 'comfyui/t2i_sdxl', 'gpu-high', 9.0),
  (1, 'outfit_change', 'comfyui', 'tryon_qwen_edit_2511', 'comfyui/tryon_qwen_edit_2511', 'gpu-high', 40.0),
  (2, 'text_to_image', 'comfyui', 't2i_sd15', 'comfyui/t2i_sd15', 'gpu-high', 4.0),
  (3, 'upscale', 'local', null, 'local/upscale', 'cpu-light', 6.0),
  (4, 'remove_background', 'local', null, 'local/remove_background', 'cpu-light', 2.0)) k(n, kind, engine, workflow, need, queue, run_s)`;

const columns = `id, owner_id, kind, status, tier, params, queue, engine, workflow, need, placement, estimate, size_class,
  revision, input_count, server, attempt, node_id, progress, error_code, error_message, facts, created_at, queued_at, claimed_at, started_at, ended_at`;

/** A few people make most of the pictures; seven of a hundred jobs fail, three are cancelled. */
function endedJobs(jobs: number, users: number): string {
  return `
    insert into jobs (${columns})
    select uuidv7(d.at - now()), 'user-' || lpad(floor(${users} * power(d.who, 3))::int::text, 6, '0'), k.kind, d.status, 1,
      jsonb_build_object('prompt', 'a ' || md5(d.i::text) || ' chair by the window', 'steps', 20, 'seed', d.i), k.queue, k.engine, k.workflow, k.need,
      jsonb_build_object('chosen', jsonb_build_object('queue', k.queue, 'need', k.need), 'isLive', true, 'weighed', '[]'::jsonb),
      jsonb_build_object('position', 3, 'waitMs', jsonb_build_array(5000, 20000), 'runMs', jsonb_build_array(4000, 12000), 'runs', 50),
      6, 5, 1, case k.engine when 'comfyui' then '10.0.0.' || d.i % 4 + 1 || ':8188' end, 1, nodes.ids[1 + d.i % 6], 1,
      case d.status when 'failed' then (array['engine_failed', 'gpu_out_of_memory', 'engine_timeout', 'server_lost'])[1 + d.i % 4] end,
      case d.status when 'failed' then 'The engine could not make the picture.' end, '{"timeMs": 5000}',
      d.at, d.at + interval '20 ms', d.at + d.wait, d.at + d.wait, d.at + d.wait + k.run_s * (0.5 + d.run) * interval '1 s'
    from (
      select i, random() as who, random() as run, -ln(1 - random()) * interval '20 s' as wait,
        case when r < 0.9 then 'completed' when r < 0.97 then 'failed' else 'cancelled' end as status,
        now() - interval '10 minutes' - interval '${historyDays} days' * (1 - i::float8 / ${jobs}) as at
      from (select i, random() as r from generate_series(1, ${jobs}) i) drawn
    ) d join ${kinds} on k.n = d.i * 7 % 5, (select array_agg(id) as ids from nodes) nodes
    order by d.at`;
}

function waitingJobs(users: number): string {
  return `
    insert into jobs (${columns})
    select uuidv7(), 'user-' || lpad((i % ${users})::text, 6, '0'), k.kind, s.status, 1, '{"prompt": "a chair"}', k.queue, k.engine, k.workflow, k.need,
      null, '{"position": 3, "waitMs": [5000, 20000], "runMs": [4000, 12000], "runs": 50}', 6, 1, 1, null,
      case s.status when 'processing' then 1 else 0 end,
      case s.status when 'processing' then (select id from nodes where state = 'active' limit 1) end, 0, null, null, null,
      now() - i * interval '1 s', now(), null, case s.status when 'processing' then now() end, null
    from generate_series(1, ${openJobs}) i join ${kinds} on k.n = i % 5
      cross join lateral (select case when i % 20 = 0 then 'processing' when i % 20 = 1 then 'queued' else 'pending' end as status) s`;
}

const stories = `
  insert into job_events (job_id, revision, type, status, data, created_at)
  select j.id, e.revision, e.type, case e.type when 'ended' then j.status else e.status end,
    case e.type when 'claimed' then jsonb_build_object('nodeId', j.node_id) else '{}' end, j.created_at
  from jobs j, (values (1, 'created', 'pending'), (2, 'queued', 'queued'), (3, 'claimed', 'waiting_for_engine'), (4, 'started', 'processing'), (5, 'ended', 'completed')) e(revision, type, status)
  where j.ended_at > now() - interval '${storyDays} days'`;

/** One of sixteen results is still there. */
const pictures = `
  insert into images (id, owner_id, role, job_id, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, created_at)
  select uuidv7(created_at - now()), owner_id, 'result', id, 'jobs/' || id, repeat('0', 64), 'image/png', 1024, 1024, 1500000, '', created_at
  from jobs where status = 'completed' and get_byte(uuid_send(id), 15) % 16 = 0`;
