// Keeps photos that another app shares with the studio until its page shows them. It is asked for that one address alone:
// why, and why it stores no pages, is in docs/decisions.md.
const store = "atelier-shared";

/** @param {Request} request */
async function keep(request) {
  try {
    const form = await request.formData();
    const files = form.getAll("pictures").filter((part) => part instanceof File);
    const cache = await caches.open(store);
    const now = Date.now();
    for (const [at, file] of files.entries())
      await cache.put(`/shared/${now}/${at}/${encodeURIComponent(file.name)}`, new Response(file));
    return Response.redirect("/shared", 303);
  } catch {
    return Response.redirect("/shared?lost=room", 303);
  }
}

self.addEventListener("fetch", (event) => {
  if (event.request.method === "POST") event.respondWith(keep(event.request));
});
