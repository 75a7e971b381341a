import { countSaved, createBoard, listBoards, listSharedPictures } from "@atelier/server/boards";
import { listTags, searchImages } from "@atelier/server/images";
import { createLink, openPicture, visitLink } from "@atelier/server/links";
import { newId } from "@atelier/server/platform";
import type { Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";

const boards = 40;
const tags = 50;
const calls = 20;

/** Boards and tags of owners with many pictures: one board has half of them, one a fifth, 38 a hundredth each; tags the same by 50. */
export async function measureBoards(stage: Stage, owners: readonly string[]): Promise<string[]> {
  for (const ownerId of owners) await seedBoards(stage, ownerId);
  for (const table of ["board_images", "image_tags", "boards", "tags"])
    await stage.run(`vacuum analyze ${table}`);
  const lines: string[] = [];
  for (const [name, prepare] of Object.entries(measured)) {
    const figures: string[] = [];
    for (const ownerId of owners) {
      const call = await prepare(stage, ownerId);
      const times: number[] = [];
      for (let at = 0; at < calls; at += 1) {
        const beganMs = performance.now();
        await call();
        times.push(performance.now() - beganMs);
      }
      figures.push(`${show(quantile(times, 0.5), 1)} / ${show(quantile(times, 0.95), 1)}`);
    }
    lines.push(`${name}: ${figures.join(", ")}`);
  }
  return lines;
}

type Prepare = (stage: Stage, ownerId: string) => Promise<() => Promise<unknown>>;

const bigBoard = async (stage: Stage, ownerId: string) => {
  const [board] = await stage.query<{ id: string }>(
    `select id from boards where owner_id = '${ownerId}' and key = 'board 00'`,
  );
  return String(board?.id);
};

const linkOf = async (stage: Stage, ownerId: string) => {
  const boardId = await bigBoard(stage, ownerId);
  const settings = { title: "", endsInDays: null, password: null, mayDownload: false };
  const { path } = await createLink(stage.services, { ...settings, ownerId, boardId });
  return { token: path.slice("/l/".length), proof: undefined };
};

const savedWords = ["window", "zeppelin", "tag:keeper", "is:starred", "from:1y"] as const;

const someWords =
  (words: readonly string[]): Prepare =>
  async ({ services }, ownerId) =>
  () =>
    searchImages(services, { ownerId, words, limit: 20 });

const measured: Readonly<Record<string, Prepare>> = {
  "list of boards":
    async ({ services }, ownerId) =>
    () =>
      listBoards(services, { ownerId }),
  "list of boards beside 100 chosen pictures": async (stage, ownerId) => {
    const chosen = await stage.query<{ id: string }>(
      `select id from images where owner_id = '${ownerId}' order by created_at desc limit 100`,
    );
    return () => listBoards(stage.services, { ownerId, imageIds: chosen.map(({ id }) => id) });
  },
  "counts of 20 saved searches": async ({ services }, ownerId) => {
    for (let at = 0; at < 20; at += 1)
      await createBoard(services, {
        ownerId,
        name: `Search ${at}`,
        search: `${savedWords[at % 5]} rating:0`,
      });
    return () => countSaved(services, { ownerId });
  },
  "list of tags":
    async ({ services }, ownerId) =>
    () =>
      listTags(services, ownerId),
  "first page of the largest board": async (stage, ownerId) => {
    const id = await bigBoard(stage, ownerId);
    return () => listSharedPictures(stage.services, { userId: ownerId, id, limit: 50 });
  },
  "page of a link to the largest board": async (stage, ownerId) => {
    const address = await linkOf(stage, ownerId);
    return () => visitLink(stage.services, address);
  },
  "a picture that such a link does not show": async (stage, ownerId) => {
    const address = await linkOf(stage, ownerId);
    const input = { ...address, imageId: newId(), variant: "thumbnail" } as const;
    return () => openPicture(stage.services, input).catch(() => null);
  },
  "some of two common words": someWords(["window", "xylophone"]),
  "some of six common words": someWords(["window", "dress", "summer", "rain", "cat", "xylophone"]),
  "some of two rare words": someWords(["zeppelin", "xylophone"]),
};

async function seedBoards(stage: Stage, ownerId: string): Promise<void> {
  const share = (column: string) =>
    `case ${column} when 0 then p.n % 2 = 0 when 1 then p.n % 5 = 1 else (p.n * 31 + ${column}) % 100 = 0 end`;
  const pictures = `(select id, created_at, row_number() over (order by id) as n from images where owner_id = '${ownerId}') p`;
  await stage.run(`
    set session_replication_role = replica; set synchronous_commit = off;
    insert into boards (id, owner_id, name, key)
    select uuidv7(), '${ownerId}', 'Board ' || n, 'board ' || lpad(n::text, 2, '0') from generate_series(0, ${boards - 1}) n;
    insert into board_images (board_id, image_id, added_at)
    select b.id, p.id, p.created_at from (select id, right(key, 2)::int as b from boards where owner_id = '${ownerId}') b, ${pictures} where ${share("b.b")};
    insert into tags (id, owner_id, name, key)
    select uuidv7(), '${ownerId}', 'tag ' || n, 'tag ' || lpad(n::text, 2, '0') from generate_series(0, ${tags - 1}) n;
    insert into image_tags (tag_id, image_id)
    select t.id, p.id from (select id, right(key, 2)::int as t from tags where owner_id = '${ownerId}' and key like 'tag %') t, ${pictures} where ${share("t.t")};
    set session_replication_role = default`);
}
