// The program's own text in huge pages.
#ifndef CAY_WARM_TEXT_H
#define CAY_WARM_TEXT_H

// Puts private copies in huge pages into the place of the mapped text of this program and its libraries, as far as that fills whole ones. A
// child then finds all of it mapped, where each page of a file would be a fault of its own. A machine with little memory keeps the files' pages.
void warm_text_copy(void);

#endif
