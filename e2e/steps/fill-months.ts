import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import pg from "pg";
import { openPostgres } from "../../scripts/embedded/postgres.ts";
import { samplePath } from "./samples.ts";
import { uploadSample } from "./upload-sample.ts";

interface Months {
  readonly months: number;
  readonly picturesEach: number;
}

/**
 * Gives the owner of this browser's session pictures of many months, which no journey can wait for: rows like that of a sample,
 * from `picture 0`, made a moment ago, to the oldest; every fourth is a copy of what AI made. All of them are shown with the sample's file.
 */
export async function fillMonths(page: Page, { months, picturesEach }: Months): Promise<void> {
  const sample = "coffee.png";
  const id = await uploadSample(page, sample);
  const body = await readFile(samplePath(sample));
  await page.route(/\/api\/v1\/images\/[^/]+\/file/, (route) =>
    route.fulfill({ body, contentType: "image/png" }),
  );
  const postgres = await openPostgres({ dataDir: process.env["ATELIER_E2E_DATA_DIR"] ?? "" });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(
    `insert into images (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, title, copy_of_ai, created_at)
     select uuidv7(age), owner_id, role, storage_key || '-' || n, stored_sha256, mime, 600 + n % 5 * 150, 600, size_bytes, thumbhash,
       'picture ' || n, n % 4 = 1, now() + age
     from images, lateral (select n, -(n * interval '730 hours' / $3::int) as age from generate_series(0, $2::int * $3::int - 1) n) aged
     where id = $1`,
    [id, months, picturesEach],
  );
  await client.end();
  await postgres.close();
}
