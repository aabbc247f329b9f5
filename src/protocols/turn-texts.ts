/** Texts of the turns that a provider demands and a client did not write. */

/** The user's turn before a conversation that an answer begins. */
export const openingText = "Begin.";
/** The answer between the results of tools and the user's next words. */
export const answerText = "Understood.";
