import { STATUS_CODES } from "node:http";
import { isDiskFull, isOutOfSpace } from "./disk-errors.ts";
import { pictureLimits } from "./picture-limits.ts";
import { currentRequestId } from "./request-id.ts";

/** How a failure is treated: strategy and charge of the failed job, HTTP status for the caller. */
export interface ErrorRule {
  /** What happens to a job that fails with this code. */
  readonly strategy: "fail" | "retry" | "other_server" | "only_other_server" | "cpu_queue";
  /** Whether the run counts against `limits.maxCharged`. */
  readonly charged: boolean;
  readonly httpStatus: number;
  /** Text for people when the thrower gives none. */
  readonly message: string;
}

const validation = (httpStatus: number, message: string): ErrorRule => ({
  strategy: "fail",
  charged: true,
  httpStatus,
  message,
});

const network = (strategy: "other_server" | "retry", message: string): ErrorRule => ({
  strategy,
  charged: false,
  httpStatus: 502,
  message,
});

/**
 * The closed table of error codes. A row decides the strategy, the charge and the HTTP status; what a code means for a
 * server is decided beside the servers, and what helps a person beside the pages.
 */
export const errorRules = {
  bad_request: validation(400, "The request is not valid."),
  // As a job failure: another server's proxy may allow larger files.
  request_too_large: {
    ...validation(413, "The request is too large."),
    strategy: "only_other_server",
    charged: false,
  },
  unauthorized: validation(401, "Sign in or send an API key."),
  forbidden: validation(403, "You may not do that."),
  not_found: validation(404, "There is nothing here under that address."),
  method_not_allowed: validation(405, "This address does not take that method."),
  file_missing: validation(410, "The file of this picture is gone."),
  conflict: validation(409, "That was changed in the meantime. Reload and try again."),
  idempotency_mismatch: validation(409, "This Idempotency-Key was used before with another request."),
  rate_limited: validation(429, "Too many requests. Wait a moment and try again."),
  quota_exceeded: validation(429, "You have too many open jobs. Wait until some are done."),
  queue_full: validation(503, "The line is full at the moment. Try again in a few minutes."),
  consent_required: validation(422, "Confirm that the photo shows an adult who agrees to this."),
  account_unknown: validation(422, "Nobody here has an account with this address."),
  no_engine: validation(422, "No engine that can do this is connected."),
  upload_too_large: validation(413, `The file is larger than ${pictureLimits.uploadMib} MB.`),
  upload_too_many: validation(413, `At most ${pictureLimits.uploadFiles} files can be uploaded at once.`),
  upload_too_many_pixels: validation(
    413,
    `The picture has more than ${pictureLimits.uploadMegapixels} megapixels.`,
  ),
  upload_bad_shape: validation(
    422,
    `A side of the picture is longer than ${pictureLimits.uploadSidePx} pixels, or more than ${pictureLimits.uploadRatio} times the other side.`,
  ),
  upload_too_complex: validation(422, "Reading the picture takes too much time or memory."),
  upload_unreadable: validation(422, "The file is damaged and cannot be read as a picture."),
  upload_unsupported: validation(
    415,
    "Only JPEG, PNG, WebP, AVIF, HEIC, GIF and TIFF pictures can be uploaded.",
  ),
  url_refused: validation(422, "This address is not allowed."),
  url_unreachable: validation(422, "The address cannot be reached."),
  url_too_large: validation(413, "The answer of the address is too large."),
  mask_size: validation(422, "The mask must have the same size as the picture."),
  mask_empty: validation(422, "Nothing is marked on the picture."),
  output_too_large: validation(
    422,
    `The result would have more than ${pictureLimits.outputMegapixels} megapixels.`,
  ),
  no_person_found: validation(422, "No person found in the picture."),
  nothing_stands_out: validation(422, "Nothing in the picture stands out from its background."),
  person_unsuitable: validation(422, "The photo of the person cannot be used for this."),
  garment_unsuitable: validation(422, "The photo of the garment cannot be used for this."),
  input_missing: validation(422, "A picture that the job needs is gone."),
  workflow_unknown: validation(422, "There is no workflow of that name for this."),
  model_unknown: validation(422, "There is no model of that name for this."),
  model_params: validation(422, "The model does not take these settings."),
  workflow_params: validation(422, "The workflow does not take these settings."),
  template_invalid: validation(422, "The prompt has a fault in its choices or lists."),
  graph_invalid: validation(422, "The server refused the workflow."),
  provider_failed: validation(502, "The provider could not make the picture."),
  providers_failed: validation(502, "None of the providers could make the picture."),
  provider_input: validation(422, "The provider cannot work with these pictures or settings."),
  provider_setup: validation(
    502,
    "The studio's access to the provider does not work. An admin has to correct it; this is not your fault.",
  ),
  provider_unknown: validation(
    502,
    "The provider's answer was lost: it may have made and charged the picture. Retry only if you accept that.",
  ),
  not_agreed: validation(409, "It would cost more, or go elsewhere, than was agreed. Nothing was started."),
  budget_exceeded: validation(402, "The limit of spending is reached."),
  displaced: {
    ...validation(503, "The line was full and an urgent job took this place. Try again in a few minutes."),
    charged: false,
  },
  // Also by a paid service behind one of its nodes, which another server would ask, and may pay, again.
  engine_blocked: validation(422, "The server blocked this picture."),
  input_refused: validation(422, "The content of this picture is not allowed here."),
  result_refused: validation(422, "What was made is not allowed here, so it was not kept."),
  gate_unavailable: {
    ...validation(503, "Pictures cannot be checked at the moment, so nothing is made."),
    charged: false,
  },
  server_lost: network("other_server", "The server that worked on the picture went away."),
  server_busy: network("other_server", "The server is too busy at the moment."),
  proxy_error: network("other_server", "A proxy in front of the server refused the request."),
  engine_interrupted: network("other_server", "The job was stopped on the server."),
  // Another server may have the missing part, or the same one later: models come and go.
  model_missing: network("other_server", "The server does not have a model that the workflow needs."),
  node_missing: network("other_server", "The server does not have a node that the workflow needs."),
  gpu_out_of_memory: {
    strategy: "cpu_queue",
    charged: false,
    httpStatus: 503,
    message: "The picture is too large for the memory of the graphics cards.",
  },
  engine_crashed: {
    strategy: "retry",
    charged: true,
    httpStatus: 502,
    message: "The engine stopped while it worked on the picture.",
  },
  engine_timeout: {
    strategy: "other_server",
    charged: true,
    httpStatus: 504,
    message: "The engine took too long.",
  },
  engine_failed: {
    strategy: "other_server",
    charged: true,
    httpStatus: 502,
    message: "The engine could not make the picture.",
  },
  // The same again on the same server: a faulty node, a setting that it cannot take, a service without a key.
  node_failed: { ...validation(502, "A node of the workflow failed."), strategy: "only_other_server" },
  no_picture: validation(422, "The workflow makes no picture that can be used."),
  out_of_memory: {
    strategy: "retry",
    charged: true,
    httpStatus: 503,
    message: "There was not enough memory for the picture.",
  },
  worker_lost: {
    strategy: "retry",
    charged: true,
    httpStatus: 503,
    message: "The worker died while it worked on the job, three times.",
  },
  storage_unavailable: {
    strategy: "retry",
    charged: false,
    httpStatus: 503,
    message: "The picture store cannot be reached. Try again in a moment.",
  },
  // For uploads only; a job on a full disk fails with the code above and runs again.
  storage_full: {
    strategy: "retry",
    charged: false,
    httpStatus: 507,
    message: "The server has no space for more pictures at the moment. Try again later.",
  },
  storage_quota: validation(507, "Your pictures take up all the space that you have. Delete some."),
  database_unavailable: {
    strategy: "retry",
    charged: false,
    httpStatus: 503,
    message: "The database cannot be reached. Try again in a moment.",
  },
  internal: {
    strategy: "retry",
    charged: true,
    httpStatus: 500,
    message: "Something went wrong on our side.",
  },
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof errorRules;

/** The one error of the product: a code of the closed table, a message for people, the cause for the log. */
export class AppError extends Error {
  readonly tag = "AppError";
  readonly code: ErrorCode;
  /** Figures or names that explain the error to a program, safe to show. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message?: string,
    options: { details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message ?? errorRules[code].message, { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
  }
}

/** Recognises an AppError by its tag, also across module copies and process borders. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && "tag" in error && error.tag === "AppError";
}

/** What an upload fails with when its file cannot be written: `storage_full`, `storage_unavailable`; else the error itself. */
export function toUploadError(cause: unknown): unknown {
  if (isDiskFull(cause)) return new AppError("storage_full", undefined, { cause });
  return isOutOfSpace(cause) ? new AppError("storage_unavailable", undefined, { cause }) : cause;
}

/**
 * Turns anything thrown into an AppError with the original as cause: a full disk becomes `storage_unavailable`, which
 * is not charged to a job; unknown errors become `internal`.
 */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  return new AppError(isOutOfSpace(error) ? "storage_unavailable" : "internal", undefined, { cause: error });
}

export function ruleOf(code: ErrorCode): ErrorRule {
  return errorRules[code];
}

/** What is for the operator to see: not that a user has used up a limit, or that the line is full. */
export function isFault(code: ErrorCode): boolean {
  return ruleOf(code).httpStatus >= 500 && code !== "storage_quota" && code !== "queue_full";
}

/** Whether a stored text is a code of the table. */
export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(errorRules, value);
}

const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  rate_limited: 60,
  queue_full: 60,
  database_unavailable: 5,
  storage_unavailable: 5,
  storage_full: 60,
};

/** An answer over HTTP that is not a success, after RFC 9457. */
export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An error as `application/problem+json`; the other `details` are safe to show and become members of the body. */
export function toProblem(error: AppError): Problem {
  const { httpStatus } = ruleOf(error.code);
  const { issues, ...details } = error.details ?? {};
  const own = details["retryAfterS"];
  const seconds = typeof own === "number" ? own : retryAfterSeconds[error.code];
  const requestId = currentRequestId();
  return {
    status: httpStatus,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(seconds ? { "retry-after": String(seconds) } : {}),
    },
    body: {
      ...details,
      type: "about:blank",
      title: STATUS_CODES[httpStatus] ?? "Error",
      status: httpStatus,
      detail: error.message,
      code: error.code,
      ...(requestId === null ? {} : { requestId }),
      ...(issues ? { errors: issues } : {}),
    },
  };
}
