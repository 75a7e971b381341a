import { AppError, type ErrorCode } from "@atelier/server/platform";

/** An answer that was read whole. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const proxyStatuses = new Set([401, 403, 404, 405, 407, 502, 504]);
const busyStatuses = new Set([429, 503]);

/** The error for an answer that is not what the route gives; the text of the answer is not repeated. */
export function refusalOf(answer: Answer): AppError {
  const { status } = answer;
  // The server's own limit or that of a proxy before it: no sign that it is unwell, but another may take it.
  if (status === 413) {
    return new AppError("request_too_large", "The server takes no files of this size.", {
      details: { status },
    });
  }
  return new AppError(codeOf(answer), undefined, { details: { status } });
}

function codeOf(answer: Answer): ErrorCode {
  const { status } = answer;
  if (isHtml(answer) || status < 400 || proxyStatuses.has(status)) return "proxy_error";
  return busyStatuses.has(status) ? "server_busy" : "engine_failed";
}

/** ComfyUI's own routes never answer with a page. */
function isHtml({ contentType, text }: Answer): boolean {
  return contentType.includes("html") || /^\s*<(!doctype|html)/i.test(text);
}
