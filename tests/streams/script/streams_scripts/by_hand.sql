REM rules by hand, and rows of one department for a queue
BEGIN
  DBMS_RULE_ADM.CREATE_RULE_SET(rule_set_name => 'strmadmin.reports',
                                evaluation_context => 'SYS.STREAMS$_EVALUATION_CONTEXT');
  DBMS_RULE_ADM.CREATE_RULE('strmadmin.big_ones',
    ':dml.get_object_name() = ''ORDERS'' AND :dml.get_value(''NEW'', ''"AMOUNT"'').AccessNumber() > 1000');
  DBMS_RULE_ADM.ADD_RULE(rule_name => 'strmadmin.big_ones', rule_set_name => 'strmadmin.reports');
  DBMS_CAPTURE_ADM.CREATE_CAPTURE(queue_name => 'q', capture_name => 'cap', rule_set_name => 'strmadmin.reports',
    start_scn => NULL, capture_user => 'strmadmin');
  <<subset>>
  BEGIN
    DBMS_STREAMS_ADM.ADD_SUBSET_PROPAGATION_RULES(
      table_name => 'hr.employees', dml_condition => ' department_id = 50 ', streams_name => 'to_dbs2',
      source_queue_name => 'q', destination_queue_name => 'q@dbs2.example.com', source_database => 'dbs1.example.com');
  EXCEPTION
    WHEN OTHERS THEN
      IF SQLCODE <> -1 THEN RAISE; END IF;
  END;
END;
/
