export { answerBy } from "./answer-by.ts";
export { serveAnswers, type AnswerServer, type GivenAnswer, type SeenRequest } from "./serve-answers.ts";
