import { answerOrders } from "../models/answer-orders.ts";
import { loadTextModel } from "./vectors-of.ts";

// The entry of a child process that makes vectors of texts with the model of the file that it is given.

answerOrders(loadTextModel);
