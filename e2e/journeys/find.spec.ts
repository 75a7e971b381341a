import sharp from "sharp";
import { beGuest } from "../steps/be-guest.ts";
import { fillMonths } from "../steps/fill-months.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { sameSite } from "../steps/same-site.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A15 pictures are found in one line: operators and values are offered, chips mean the same, and what is wrong is named", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await uploadSample(page, "coffee.png");
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const picture = (name: string) => sheet.getByRole("button", { name, exact: true });
  await expect(picture("rocket")).toBeVisible();

  await page.keyboard.press("/");
  const line = page.getByRole("combobox", { name: "Search the pictures" });
  await expect(line).toBeFocused();
  await page.keyboard.type("i");
  await page.getByRole("option", { name: /^is:/ }).click();
  await expect(line).toHaveValue("is:");
  await expect(page.getByRole("option")).toHaveCount(5);
  await page.keyboard.type("up");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(line).toHaveValue("is:upload ");
  const chips = page.getByRole("group", { name: "Filter the pictures" });
  await expect(chips.getByRole("button", { name: "Uploads" })).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.type("coff -rocket");
  await expect(picture("rocket")).toHaveCount(0);
  await expect(picture("coffee")).toBeVisible();
  await expect(page).toHaveURL(/search=is%3Aupload\+coff\+-rocket$/);
  expect(await findBarriers(page)).toEqual([]);

  await page.keyboard.type(" rating:good");
  await expect(page.getByText("“rating:good” is left out")).toBeVisible();
  await expect(picture("coffee")).toBeVisible();
  await page.getByRole("button", { name: "Clear the search" }).click();
  await expect(page.getByRole("option")).toHaveCount(11);
  await page.keyboard.press("Escape");
  await expect(picture("rocket")).toBeVisible();
  await chips.getByRole("button", { name: "Results" }).click();
  await expect(line).toHaveValue("is:result");
  await expect(page.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await page.getByRole("link", { name: "Show all pictures" }).click();
  await expect(line).toHaveValue("");
  await expect(picture("coffee")).toBeVisible();
});

test("A15 the help of the search lists every operator with an example, and a press puts it into the line", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/gallery");
  const line = page.getByRole("combobox", { name: "Search the pictures" });
  await page.getByRole("button", { name: "How to search" }).click();
  const help = page.getByRole("dialog", { name: "How to search" });
  const examples = help.getByRole("button").filter({ has: page.locator("code") });
  await expect(examples.first()).toBeVisible();
  const terms = await examples.locator("code").allTextContents();
  const operators = ["kind", "model", "board", "tag", "is", "rating", "from", "to", "size", "seed", "order"];
  expect(terms.flatMap((term) => /^[a-z]+(?=:)/.exec(term)?.[0] ?? [])).toEqual(operators);
  expect(await findBarriers(page)).toEqual([]);
  await examples.filter({ hasText: "is:starred" }).click();
  await expect(help).toBeHidden();
  await expect(line).toHaveValue("is:starred ");
  await expect(line).toBeFocused();
  await expect(page).toHaveURL(/\/gallery\?search=is%3Astarred$/);
  for (const term of terms) {
    await page.getByRole("button", { name: "How to search" }).click();
    await examples.filter({ has: page.getByText(term, { exact: true }) }).click();
  }
  await expect(line).toHaveValue(["is:starred", ...terms, ""].join(" "));
  await expect(page.getByText("is left out")).toHaveCount(0);

  await page.goto("/jobs");
  await page.keyboard.press("Control+K");
  await page.keyboard.type("how to search");
  await page.keyboard.press("Enter");
  await expect(help).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
  await expect(page).toHaveURL(/\/gallery$/);
});

test("@all a photo is found by the words in its file, and by those that its owner writes instead", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description><rdf:Alt><rdf:li xml:lang="x-default">Boats in the harbour</rdf:li></rdf:Alt></dc:description><dc:subject><rdf:Bag><rdf:li>Brest</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>`;
  const wall = sharp({ create: { width: 480, height: 320, channels: 3, background: "#8aa599" } });
  const buffer = await wall.withXmp(xmp).jpeg().toBuffer();
  const file = { name: "IMG_0001.jpg", mimeType: "image/jpeg", buffer };
  const answer = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
  expect(answer.status(), await answer.text()).toBe(201);
  await page.goto("/gallery");
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const picture = (name: string) => sheet.getByRole("button", { name, exact: true });
  const [photo, rocket] = [picture("IMG_0001"), picture("rocket")];
  const line = page.getByRole("combobox", { name: "Search the pictures" });
  await expect(rocket).toBeVisible();
  await line.fill("harbour brest");
  await expect(rocket).toHaveCount(0);
  await photo.click();
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: "Boats in the harbour Brest" })).toBeVisible();
  await viewer.getByRole("button", { name: "Information" }).click();
  const description = viewer.getByRole("textbox", { name: "Description" });
  await expect(description).toHaveValue("Boats in the harbour\nBrest");
  expect(await findBarriers(page)).toEqual([]);
  await description.fill("A lighthouse");
  await page.keyboard.press("Escape");
  await expect(viewer.getByRole("img", { name: "A lighthouse" })).toBeVisible();
  await expect(description).not.toBeFocused();
  await viewer.getByRole("button", { name: "Close" }).click();
  await expect(viewer).toBeHidden();
  await expect(page.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await line.fill("lighthouse");
  await expect(photo).toBeVisible();
  await expect(rocket).toHaveCount(0);
});

test("@all any picture of the gallery is chosen for an outfit: by pages, the search, a board and keys", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/");
  const person = page.getByRole("region", { name: "Person" });
  await person.getByRole("button", { name: "From the gallery…" }).click();
  const picker = page.getByRole("dialog", { name: "Choose a picture" });
  await expect(picker.getByRole("heading", { name: "No pictures yet" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(picker).toBeHidden();

  await fillMonths(page, { months: 2, picturesEach: 35 });
  const found = await page.request.get("/api/v1/images?limit=1");
  const { items }: { items: readonly { id: string }[] } = await found.json();
  const board = { name: "Walls", imageIds: items.map(({ id }) => id) };
  const made = await page.request.post("/api/v1/boards", { data: board, ...sameSite() });
  expect(made.status(), await made.text()).toBe(201);
  await page.reload();
  await person.getByRole("button", { name: "From the gallery…" }).click();
  const tiles = picker.locator("[data-tile]");
  await expect(tiles).toHaveCount(60);
  expect(await findBarriers(page)).toEqual([]);
  await tiles.last().scrollIntoViewIfNeeded();
  await expect(tiles).toHaveCount(71);

  await picker.getByRole("button", { name: "Walls" }).click();
  await expect(tiles).toHaveCount(1);
  const line = picker.getByRole("searchbox", { name: "Search the pictures" });
  await line.fill("rating:good");
  await expect(picker.getByText("rating: takes 0 to 5")).toBeVisible();
  await line.fill("is:trashed");
  await expect(picker.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await line.fill("picture");
  await expect(tiles).toHaveCount(60);
  await line.press("ArrowDown");
  await expect(tiles.first()).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await expect(tiles.first()).not.toBeFocused();
  await line.fill('"picture 69"');
  await expect(tiles).toHaveCount(1);
  await line.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(picker).toBeHidden();
  await expect(person.getByRole("img", { name: "picture 69" })).toBeVisible();
  await expect(person.getByRole("button", { name: "From the gallery…" })).toBeVisible();
});
