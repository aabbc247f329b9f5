/** Counts the changes of rows that processes keep copies of, for whoever missed the notice of one. */
export interface RevisionsTable {
  name: "copies";
  revision: number;
}
