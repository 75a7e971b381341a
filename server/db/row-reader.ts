import { getTableColumns, type InferSelectModel, type Table } from "drizzle-orm";

/** The rows of a table as hand-written statements return them, read as those of a query; a column that is not there is null. */
export function rowReader<T extends Table>(table: T) {
  const columns = Object.entries(getTableColumns(table));
  return (row: Readonly<Record<string, unknown>>): InferSelectModel<T> => {
    const entries = columns.map(([name, column]) => {
      const value = row[column.name];
      return [name, value === null || value === undefined ? null : column.mapFromDriverValue(value)];
    });
    // Safe: every column of the table is read by its own mapping, so the result has the table's shape.
    return Object.fromEntries(entries) as InferSelectModel<T>;
  };
}
