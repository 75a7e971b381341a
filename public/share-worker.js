// Keeps photos that another app shares with the studio until its page shows them. It is asked for that one address alone:
// why, and why it stores no pages, is in docs/decisions.md.
const store = "atelier-shared";

/** @param {Request} request */
async function keep(request) {
  const origin = request.headers.get("origin");
  // What a phone shares has none. A page that hides its own is the reason why the studio asks before anything goes up.
  if (origin !== null && origin !== "null" && origin !== self.location.origin)
    return Response.redirect("/shared", 303);
  const kept = [];
  try {
    const form = await request.formData();
    const files = form.getAll("pictures").filter((part) => part instanceof File);
    const cache = await caches.open(store);
    const now = Date.now();
    for (const [at, file] of files.entries()) {
      kept.push(`/shared/${now}/${at}/${encodeURIComponent(file.name)}`);
      await cache.put(kept.at(-1), new Response(file));
    }
    return Response.redirect("/shared", 303);
  } catch {
    // All of a share or nothing: a part would look like all of it.
    const cache = await caches.open(store).catch(() => null);
    for (const address of kept) await cache?.delete(address).catch(() => false);
    return Response.redirect("/shared?lost=room", 303);
  }
}

self.addEventListener("fetch", (event) => {
  if (event.request.method === "POST") event.respondWith(keep(event.request));
});
