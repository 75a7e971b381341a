export { AppError, isAppError, isErrorCode, isOutOfSpace, ruleOf, toAppError } from "./errors.ts";
export { toProblem, type Problem } from "./to-problem.ts";
export { errorRules, type ErrorCode, type ErrorRule } from "./error-codes.ts";
export { isLoopback, namesLoopback } from "./addresses.ts";
export { isId, newId } from "./ids.ts";
export { isStorable, lineOfText } from "./line-of-text.ts";
export { envNames, inspectEnv, parseEnv, type ConfigProblem, type Env } from "./env.ts";
export {
  defineConfig,
  loadConfig,
  parseConfig,
  type Config,
  type ConfigInput,
  type QueueNeeds,
} from "./config.ts";
export { foreignBytes, foreignCount, foreignText } from "./text.ts";
export { issuesOf, type FieldIssue } from "./issues.ts";
export { pictureLimits } from "./picture-limits.ts";
export { openLog, type Logger, type LogOptions } from "./log.ts";
