-- Before version 17 PostgreSQL lets no process of a parallel plan catch an error, which this function does.
alter function recall_words(text[]) parallel unsafe;
