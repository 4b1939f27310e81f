# Aesop sources in a CMake project.
#
#   aesop_sources(<target> <file.ae>...)           translates and compiles the files into objects of the target
#   aesop_add_executable(<name> <source>...)       a program of .ae and other sources, linked with the runtime
#
# Inside this project they come with include(Aesop), elsewhere with find_package(Aesop).
#
# Each .ae file is compiled by aecc with the project's C compiler behind it (--cc=${CMAKE_C_COMPILER}), the flags of the build
# type, and the target's include folders, definitions, C standard, position independence and own COMPILE_OPTIONS; properties may
# be set after the call. Dependencies on headers come from aecc's -MD. Two things differ from a C source, because CMake hands
# them only to languages that it knows: compile *options* that linked libraries export are not seen, and definitions and include
# folders may not depend on $<COMPILE_LANGUAGE>; in the target's own options that expression works.

include_guard(GLOBAL)

function(aesop_sources target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "aesop_sources: there is no target `${target}`")
  endif()
  get_property(done TARGET ${target} PROPERTY AESOP_OBJECTS)
  list(LENGTH done number)
  set(objects)
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(REPLACE ".." "__" name "${name}")
    set(object ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/${name}.o)
    # At the end of the folder's CMakeLists.txt, when all properties are set. Bracket arguments: nothing in them is expanded again.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _aesop_compile [==[${target}]==] [==[${source}]==] [==[${object}]==])")
    list(APPEND objects ${object})
  endforeach()
  if(NOT objects)
    return()
  endif()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${objects})
  set_property(TARGET ${target} APPEND PROPERTY AESOP_OBJECTS ${objects})
  # A target of its own: the commands are known in this folder only, the library they belong to may stand in another one.
  add_custom_target(${target}-aesop-${number} DEPENDS ${objects})
  add_dependencies(${target} ${target}-aesop-${number})
  get_target_property(language ${target} LINKER_LANGUAGE)
  if(NOT language)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  endif()
endfunction()

function(aesop_add_executable name)
  set(aesop ${ARGN})
  set(others ${ARGN})
  list(FILTER aesop INCLUDE REGEX "\\.ae$")
  list(FILTER others EXCLUDE REGEX "\\.ae$")
  add_executable(${name} ${others})
  aesop_sources(${name} ${aesop})
  target_link_libraries(${name} PRIVATE Aesop::aesop)
endfunction()

# Options for a language CMake does not know: $<COMPILE_LANGUAGE:...> and $<COMPILE_LANG_AND_ID:...> are answered here, as for C.
function(_aesop_as_c result)
  set(text "${ARGN}")
  while(text MATCHES "\\$<COMPILE_LANG_AND_ID:([^<>]*)>")
    set(match "${CMAKE_MATCH_0}")
    string(REPLACE "," ";" list "${CMAKE_MATCH_1}")
    list(POP_FRONT list language)
    set(value 0)
    if(language STREQUAL "C" AND CMAKE_C_COMPILER_ID IN_LIST list)
      set(value 1)
    endif()
    string(REPLACE "${match}" "${value}" text "${text}")
  endwhile()
  while(text MATCHES "\\$<COMPILE_LANGUAGE:([^<>]*)>")
    set(match "${CMAKE_MATCH_0}")
    string(REPLACE "," ";" list "${CMAKE_MATCH_1}")
    set(value 0)
    if("C" IN_LIST list)
      set(value 1)
    endif()
    string(REPLACE "${match}" "${value}" text "${text}")
  endwhile()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(_aesop_compile target source object)
  if(TARGET Aesop::aecc)
    set(aecc Aesop::aecc)
  else()
    set(aecc aecc)
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
  get_target_property(standard ${target} C_STANDARD)
  get_target_property(extensions ${target} C_EXTENSIONS)
  if(standard)
    if("${extensions}" STREQUAL "OFF")
      list(APPEND flags -std=c${standard})
    else()
      list(APPEND flags -std=gnu${standard})
    endif()
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  if(options)
    _aesop_as_c(options "${options}")
    list(APPEND flags ${options})
  endif()
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS)
    get_source_file_property(value ${source} ${property})
    if(value AND property STREQUAL COMPILE_DEFINITIONS)
      list(TRANSFORM value PREPEND -D)
    endif()
    if(value)
      list(APPEND flags ${value})
    endif()
  endforeach()
  set(includes $<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE shown)
  cmake_path(GET object PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${aecc} --cc=${CMAKE_C_COMPILER} "${flags}"
            "$<$<BOOL:$<TARGET_PROPERTY:${target},POSITION_INDEPENDENT_CODE>>:-fPIC>"
            "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
            -c -o ${object} -MD -MF ${object}.d -MT ${object} ${source}
    MAIN_DEPENDENCY ${source}
    DEPENDS ${aecc}
    DEPFILE ${object}.d
    COMMENT "Building Aesop object ${shown}"
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()
