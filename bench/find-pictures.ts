import { fillSearchTexts, listImages, type ListImagesInput } from "@atelier/server/images";
import { measureBoards } from "./find-boards.ts";
import { openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";

const sizes = [1_000, 10_000, 250_000] as const;
const others = 9;
const othersEach = 25_000;
const calls = 40;

const words =
  "a the of in at with and woman man child portrait light shadow window chair street rain snow garden summer winter evening morning red blue green golden linen wool silk dress coat jacket trousers hat studio photo painting oil water river mountain forest castle bridge tower market cafe cat dog horse bird boat train car bicycle lamp mirror book letter clock flower rose tulip tree leaf stone sand sea beach wave cloud storm moon sun star night city harbour роза жена мъж море планина градина светлина прозорец утро вечер 女人 男人 花园 窗户 晚霞 大海 山 城市 夜晚 房子".split(
    " ",
  );

/** Finding pictures of an owner who has 1,000, 10,000 and 250,000, beside nine other owners with 25,000 each. */
export async function benchFindPictures(): Promise<string[]> {
  const stage = await openStage("postgres");
  for (const size of sizes) await seedOwner(stage, `owner-${size}`, size);
  for (let other = 0; other < others; other += 1) await seedOwner(stage, `other-${other}`, othersEach);
  const beganMs = performance.now();
  await fillSearchTexts(stage.services.db, `owner-${sizes[2]}`);
  const filledMs = performance.now() - beganMs;
  for (const { id } of await stage.query<{ id: string }>("select id from users where id like 'o%-%'"))
    await fillSearchTexts(stage.services.db, id);
  await stage.run("vacuum analyze");
  const [index] = await stage.query<{ mb: number }>(
    "select (pg_relation_size('images_found') / 1048576.0)::float8 as mb",
  );
  const lines = [
    `texts of ${sizes[2]} pictures made in ${show(filledMs / 1_000, 0)} s, index ${show(index?.mb ?? 0, 0)} MB; p95 in ms of ${calls} calls at ${sizes.join(", ")} pictures, and the last to the first`,
  ];
  for (const [name, input] of Object.entries(searches)) lines.push(await measure(stage, name, input));
  const owners = [sizes[0], sizes[2]].map((size) => `owner-${size}`);
  lines.push(`boards, tags and some of several words: p50 and p95 in ms at ${sizes[0]} and ${sizes[2]}`);
  lines.push(...(await measureBoards(stage, owners)));
  await stage.close();
  return lines;
}

type Search = Omit<ListImagesInput, "ownerId">;

const searches: Readonly<Record<string, Search>> = {
  "first page": {},
  "first page of stacks": { stacks: true },
  "a common word": { search: "window", stacks: true },
  "two common words": { search: "window dress", stacks: true },
  "a rare word": { search: "zeppelin", stacks: true },
  "a rare word in Chinese": { search: "灯塔", stacks: true },
  "a rare character": { search: "鲸", stacks: true },
  "a rare word in Bulgarian": { search: "фар", stacks: true },
  "a rare phrase": { search: '"zeppelin over"', stacks: true },
  "a rare and a common word": { search: "zeppelin window", stacks: true },
  "a word that is nowhere": { search: "xylophone", stacks: true },
  "two letters that are nowhere": { search: "qj", stacks: true },
  "a word of old pictures alone": { search: "antique", stacks: true },
  "a common word without another": { search: "window -dress", stacks: true },
  "a rare kind": { search: "kind:expand", stacks: true },
  "a rare kind and a common word": { search: "kind:expand window", stacks: true },
  "a rare model": { search: "model:seldom", stacks: true },
  "a seed": { search: "seed:777", stacks: true },
  "a rare tag": { search: "tag:keeper", stacks: true },
  "pictures without a tag": { search: "tag:none", stacks: true },
  starred: { search: "is:starred", stacks: true },
  "starred with a rare word": { search: "is:starred zeppelin", stacks: true },
  "five stars": { search: "rating:5", stacks: true },
  "one month of long ago": { search: "from:2024-02 to:2024-02", stacks: true },
  "a common word in that month": { search: "window from:2024-02 to:2024-02", stacks: true },
  shared: { search: "is:shared", stacks: true },
  "very large ones": { search: "size:>4000", stacks: true },
};

async function measure(stage: Stage, name: string, input: Search): Promise<string> {
  const p95s: number[] = [];
  let found = 0;
  for (const size of sizes) {
    const times: number[] = [];
    for (let call = 0; call < calls; call += 1) {
      const beganMs = performance.now();
      const page = await listImages(stage.services, { ...input, ownerId: `owner-${size}`, limit: 50 });
      times.push(performance.now() - beganMs);
      found = page.items.length;
    }
    p95s.push(quantile(times, 0.95));
  }
  const ratio = (p95s.at(-1) ?? 0) / (p95s[0] ?? 1);
  return `${name}: ${p95s.map((ms) => show(ms, 1)).join(", ")}; ${show(ratio, 2)} (${found} on the page)`;
}

/** Pictures of three years, nine of ten of them results with a prompt of twelve words, in stacks of four. */
export async function seedOwner(stage: Pick<Stage, "run">, ownerId: string, pictures: number): Promise<void> {
  const list = `array[${words.map((word) => `'${word}'`).join(",")}]`;
  const word = `(${list})[1 + floor(${words.length} * random() ^ 2 + n * 0)::int]`;
  const every = Math.floor(pictures / 12);
  await stage.run(`
    set session_replication_role = replica; set synchronous_commit = off;
    insert into users (id, name, email, email_verified, is_anonymous, created_at, updated_at)
    values ('${ownerId}', '${ownerId}', '${ownerId}@bench.invalid', true, false, now(), now()) on conflict do nothing;
    create temporary table made as
    select n, uuidv7(age) as id, uuidv7(age) as job, now() + age as at from (
      select n, -(interval '1095 days' * (n::float8 / ${pictures})) as age from generate_series(0, ${pictures - 1}) n) aged;
    insert into jobs (id, owner_id, kind, status, tier, params, queue, engine, workflow, model, need, created_at, ended_at)
    select job, '${ownerId}', case when n % ${every} = 3 then 'expand' when n % 5 = 0 then 'upscale' else 'text_to_image' end, 'completed', 1,
      jsonb_build_object('seed', case when n = ${every} then 777 else 1000000 + n end, 'steps', 20 + n % 9, 'width', 1024, 'height', 1024, 'prompt',
        concat_ws(' ', ${Array.from({ length: 12 }, () => word).join(", ")},
          case when n % ${every} = 1 then 'zeppelin over 灯塔 鲸 фар' end, case when n > ${Math.floor(pictures * 0.96)} then 'antique' end)),
      'gpu-high', 'comfyui', 't2i_sdxl', case when n % ${every} = 5 then 'seldom-pro' end, 'comfyui/t2i_sdxl', at, at
    from made where n % 10 > 0;
    insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, job_id, title, stack_id,
      created_at, starred, rating)
    select id, '${ownerId}', case when n % 10 > 0 then 'result' else 'upload' end, id, md5(n::text), 'image/webp',
      case when n % ${every} = 6 then 4096 else 1024 end, 768, 1, '1QcSHQRnh493V4dIh4eXh1h4kJUI', case when n % 10 > 0 then job end, 'IMG ' || n,
      first_value(id) over (partition by n / 4 order by n), at, n % 200 = 0, case when n % 100 = 7 then 5 else 0 end
    from made;
    insert into tags (id, owner_id, name, key) values (uuidv7(), '${ownerId}', 'keeper', 'keeper');
    insert into image_tags select t.id, made.id from tags t, made where t.owner_id = '${ownerId}' and n % ${every} = 8;
    drop table made; set session_replication_role = default`);
}
