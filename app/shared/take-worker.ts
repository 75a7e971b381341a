/** Where a phone sends the photos that are shared with the studio: a worker in the browser takes them, not the server. */
export const takePath = "/shared/take";

/** Its text is a part of each page, so that it names nothing of this file. */
function keepTaking(scope: string): void {
  // A phone shares with a studio on its home screen alone; the page of what is shared serves both.
  const isWanted =
    window.matchMedia("(display-mode: standalone)").matches || window.location.pathname === "/shared";
  if (!isWanted) return;
  window.addEventListener("load", () => {
    // Not there over plain http, nor in some private windows.
    window.navigator.serviceWorker?.register("/share-worker.js", { scope }).catch(() => undefined);
  });
}

export const takeWorkerScript = () => `(${keepTaking.toString()})("${takePath}");`;
