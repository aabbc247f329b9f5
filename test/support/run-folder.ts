/** Names the folder of a whole run of the tests, made and removed by `test/run.ts`; unset when files run by themselves. */
export const runFolderVariable = "MODELGATE_TEST_FOLDER";

/** What the files of a run share, such as data that each would otherwise make for itself. */
export const runFolder = process.env[runFolderVariable];
